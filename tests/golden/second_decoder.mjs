// A second decoder of the ternary and 1-bit block formats, slow and plain, and the maker of their golden files.
//
// It owns the formats that ggml does not have: Q2_0 in groups of 128, the same codes before the scale, PQ2_0, PTQ1_0
// and TQ2_0 in consecutive order. It was written from the written description of each layout, not from another decoder,
// so that two readings of one description meet in the golden files. It also decodes Q1_0, Q2_0, TQ1_0, TQ2_0 and F16,
// only to be checked against the files that ggml's own library made (from_ggml.c).
//
//   node tests/golden/second_decoder.mjs            writes its files into tests/golden/formats
//   node tests/golden/second_decoder.mjs --check    writes nothing; exits 1 at the first difference

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const DIR = join(dirname(fileURLToPath(import.meta.url)), 'formats');

// ---- numbers --------------------------------------------------------------------------------------------------------

/** IEEE binary16, little-endian, at offset `at`. Every half is exact as a JavaScript number. */
function half(block, at) {
  const h = block[at] | (block[at + 1] << 8);
  const sign = h & 0x8000 ? -1 : 1;
  const exponent = (h >> 10) & 31;
  const fraction = h & 0x3ff;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1024 + fraction) * 2 ** (exponent - 25);
}

const view = new DataView(new ArrayBuffer(4));

function bitsOf(value) {
  view.setFloat32(0, value);
  return view.getUint32(0).toString(16).padStart(8, '0');
}

const hexOf = (block) => Buffer.from(block).toString('hex');
const fromHex = (hex) => Uint8Array.from(Buffer.from(hex.replaceAll(' ', ''), 'hex'));

// ---- where weight j lives -------------------------------------------------------------------------------------------

/** Four weights a byte, the lowest two bits first: weight j is bits 2*(j%4) of byte j/4. */
const consecutive = (j) => ({ byte: j >> 2, shift: 2 * (j & 3) });

/** ggml's TQ2_0: weight 128h + 32n + m is bits 2n of byte 32h + m. */
const interleaved = (j) => ({ byte: 32 * (j >> 7) + (j & 31), shift: 2 * ((j >> 5) & 3) });

/**
 * Base-3 formats: a block is a row of stages. A stage of `bytes` bytes at `byte` with `digits` digits holds
 * bytes*digits weights from `weight` on; digit n of its byte m is weight + bytes*n + m.
 */
const PTQ1_0_STAGES = [
  { weight: 0, byte: 0, bytes: 16, digits: 5 },
  { weight: 80, byte: 16, bytes: 8, digits: 5 },
  { weight: 120, byte: 24, bytes: 2, digits: 4 },
];
const TQ1_0_STAGES = [
  { weight: 0, byte: 0, bytes: 32, digits: 5 },
  { weight: 160, byte: 32, bytes: 16, digits: 5 },
  { weight: 240, byte: 48, bytes: 4, digits: 4 },
];

/** Digit n of a byte: drop the n digits before it (times 3^n modulo 256), then times 3 carries the top digit out. */
function digitOf(byte, n) {
  const rest = (byte * 3 ** n) & 255;
  return (rest * 3) >> 8;
}

/** Five digits, the most significant first, as the smallest byte from which digitOf reads them back. */
function byteOf(digits) {
  let q = 0;
  for (let n = 0; n < 5; n++) q = q * 3 + (digits[n] ?? 0);
  return Math.floor((q * 256 + 242) / 243);
}

// ---- codecs: block bytes -> numbers, and codes + scale -> block bytes -----------------------------------------------

function twoBit({ weights, codes, scale, place, three }) {
  return {
    weights,
    bytes: weights / 4 + 2,
    scale,
    decode(block) {
      const d = half(block, scale);
      return Array.from({ length: weights }, (_, j) => {
        const { byte, shift } = place(j);
        const code = (block[codes + byte] >> shift) & 3;
        return code === 3 && three === 0 ? 0 : (code - 1) * d;
      });
    },
    encode(trits, d) {
      const block = new Uint8Array(weights / 4 + 2);
      block.set(d, scale);
      trits.forEach((t, j) => {
        const { byte, shift } = place(j);
        block[codes + byte] |= (t + 1) << shift;
      });
      return block;
    },
  };
}

function base3(stages) {
  const last = stages.at(-1);
  const scale = last.byte + last.bytes;
  const weights = last.weight + last.bytes * last.digits;
  return {
    weights,
    bytes: scale + 2,
    scale,
    decode(block) {
      const d = half(block, scale);
      const out = new Array(weights);
      for (const s of stages)
        for (let n = 0; n < s.digits; n++)
          for (let m = 0; m < s.bytes; m++)
            out[s.weight + s.bytes * n + m] = (digitOf(block[s.byte + m], n) - 1) * d;
      return out;
    },
    encode(trits, d) {
      const block = new Uint8Array(scale + 2);
      for (const s of stages)
        for (let m = 0; m < s.bytes; m++)
          block[s.byte + m] = byteOf(Array.from({ length: s.digits }, (_, n) => trits[s.weight + s.bytes * n + m] + 1));
      block.set(d, scale);
      return block;
    },
  };
}

const q1_0 = {
  weights: 128,
  bytes: 18,
  decode(block) {
    const d = half(block, 0);
    return Array.from({ length: 128 }, (_, j) => ((block[2 + (j >> 3)] >> (j & 7)) & 1 ? d : -d));
  },
};

const f16 = { weights: 32, bytes: 64, decode: (block) => Array.from({ length: 32 }, (_, j) => half(block, 2 * j)) };

const pq2_0 = twoBit({ weights: 128, codes: 2, scale: 0, place: consecutive, three: 2 });
const ptq1_0 = base3(PTQ1_0_STAGES);

/** The files this program makes. `signed`: the scale may be negative (OxiBonsai's readers take scales >= 0 only). */
const OWN = {
  q2_0_g128: { codec: pq2_0, seed: 0x51200128, signed: true },
  q2_0_codes_first: {
    codec: twoBit({ weights: 128, codes: 0, scale: 32, place: consecutive, three: 0 }),
    seed: 0x0c0de128,
    signed: false,
  },
  pq2_0: { codec: pq2_0, seed: 0x92000142, signed: true },
  ptq1_0: { codec: ptq1_0, seed: 0x91000143, signed: true },
  tq2_0_oxi: {
    codec: twoBit({ weights: 256, codes: 0, scale: 64, place: consecutive, three: 0 }),
    seed: 0x0712035a,
    signed: false,
  },
};

/** The files of from_ggml.c that this decoder also reads. */
const SHARED = {
  f16,
  q1_0,
  q2_0_g64: twoBit({ weights: 64, codes: 2, scale: 0, place: consecutive, three: 2 }),
  tq1_0: base3(TQ1_0_STAGES),
  tq2_0: twoBit({ weights: 256, codes: 0, scale: 64, place: interleaved, three: 2 }),
};

// ---- the published example block ------------------------------------------------------------------------------------

const exampleTrits = Array.from({ length: 128 }, (_, i) => ((i * i + Math.floor(i / 7)) % 3) - 1);
const EXAMPLE_PTQ1_0 = fromHex('1567a805705c22e3ac7bcab6a1e429ee 29dd05523b76a739 ab3d 003c');
const EXAMPLE_PQ2_0 = fromHex('003c 1485a6892050149a26824051689a080245a16922081485a6892050149a268240');

const EXAMPLES = {
  q2_0_g128: EXAMPLE_PQ2_0,
  q2_0_codes_first: Uint8Array.from([...EXAMPLE_PQ2_0.slice(2), ...EXAMPLE_PQ2_0.slice(0, 2)]),
  pq2_0: EXAMPLE_PQ2_0,
  ptq1_0: EXAMPLE_PTQ1_0,
};

// ---- deterministic blocks -------------------------------------------------------------------------------------------

/** Marsaglia's xorshift32. */
function xorshift(seed) {
  let s = seed >>> 0;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return s >>> 0;
  };
}

/** Code bytes come from a shuffled deck of all 256 values, so that 256 draws meet every value. */
function deck(random) {
  let cards = [];
  return () => {
    if (cards.length === 0) {
      cards = Array.from({ length: 256 }, (_, i) => i);
      for (let i = 255; i > 0; i--) {
        const k = random() % (i + 1);
        [cards[i], cards[k]] = [cards[k], cards[i]];
      }
    }
    return cards.pop();
  };
}

const halfBytes = (h) => Uint8Array.of(h & 255, h >> 8);

/** A half of an ordinary weight scale: 2^-12 <= |d| < 2^2. */
const anyScale = (random) => halfBytes(((3 + (random() % 14)) << 10) | (random() & 0x3ff));

/** Scales that random ones would not meet: one, zero, the smallest and the largest half, a negative one. */
const edgeScales = (signed) => [0x3c00, 0x0000, 0x0001, 0x7bff, ...(signed ? [0xa5c3] : [])].map(halfBytes);

function blocksOf(name) {
  const { codec, seed, signed } = OWN[name];
  const random = xorshift(seed);
  const byte = deck(random);
  const blocks = [];
  if (EXAMPLES[name]) blocks.push({ block: EXAMPLES[name] });

  // Exact ternary sources: the scale is the largest magnitude, so that the block has one right encoding.
  for (let k = 0; k < 5; k++) {
    const trits = Array.from({ length: codec.weights }, () => (k === 0 ? 0 : (random() % 3) - 1));
    const d = k === 0 ? halfBytes(0) : anyScale(random);
    const source = trits.map((t) => (t === 0 ? 0 : t * half(d, 0)));
    blocks.push({ block: codec.encode(trits, d), source });
  }
  const edges = edgeScales(signed);
  const count = codec.weights === 256 ? 12 : 18;
  for (let k = 0; k < count; k++) {
    const block = new Uint8Array(codec.bytes);
    block.set(edges[k] ?? anyScale(random), codec.scale);
    for (let i = 0; i < codec.bytes; i++) if (i !== codec.scale && i !== codec.scale + 1) block[i] = byte();
    blocks.push({ block });
  }
  return blocks;
}

function textOf(name) {
  const { codec } = OWN[name];
  const lines = [
    `# ${name}: ${codec.weights} weights in ${codec.bytes} bytes a block`,
    '# made by tests/golden/second_decoder.mjs (plain JavaScript, no dependencies)',
    '# x float32 bits of an exact ternary source that was encoded here, b block bytes, v decoded float32 bits',
    '# command: node tests/golden/second_decoder.mjs',
  ];
  for (const { block, source } of blocksOf(name)) {
    if (source) lines.push(`x ${source.map(bitsOf).join(' ')}`);
    lines.push(`b ${hexOf(block)}`, `v ${codec.decode(block).map(bitsOf).join(' ')}`);
  }
  return lines.join('\n') + '\n';
}

// ---- checks ---------------------------------------------------------------------------------------------------------

function must(condition, what) {
  if (condition) return;
  console.error(`second_decoder: ${what}`);
  process.exit(1);
}

function checkSharedFile(name, codec) {
  const path = join(DIR, `${name}.txt`);
  must(existsSync(path), `${name}.txt is missing: make it with from_ggml.c`);
  let blocks = 0;
  let block = null;
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line.startsWith('b ')) {
      block = fromHex(line.slice(2));
      must(block.length === codec.bytes, `${name} block ${blocks}: ${block.length} bytes, expected ${codec.bytes}`);
    } else if (line.startsWith('v ')) {
      const theirs = line.slice(2).split(' ');
      const ours = codec.decode(block).map(bitsOf);
      must(theirs.length === ours.length, `${name} block ${blocks}: ${theirs.length} values, expected ${ours.length}`);
      const j = ours.findIndex((bits, i) => bits !== theirs[i]);
      must(j < 0, `${name} block ${blocks} weight ${j}: ${ours[j]}, ggml ${theirs[j]}`);
      blocks++;
    }
  }
  must(blocks > 0, `${name}.txt holds no blocks`);
  console.log(`${name}: ${blocks} blocks equal to ggml's`);
}

const digitsOf = (number, count) =>
  Array.from({ length: count }, (_, n) => Math.floor(number / 3 ** (count - 1 - n)) % 3);

/** Every combination of digits in every byte of a base-3 block, through encode and decode; others filled with noise. */
function checkRoundTrip(name, codec, stages) {
  const random = xorshift(0x3a3a3a3a);
  const one = halfBytes(0x3c00);
  let cases = 0;
  for (const s of stages)
    for (let m = 0; m < s.bytes; m++)
      for (let number = 0; number < 3 ** s.digits; number++) {
        const trits = Array.from({ length: codec.weights }, () => (random() % 3) - 1);
        digitsOf(number, s.digits).forEach((digit, n) => (trits[s.weight + s.bytes * n + m] = digit - 1));
        const back = codec.decode(codec.encode(trits, one));
        must(back.every((v, j) => v === trits[j]), `${name} byte ${s.byte + m}, digits ${number}: not read back`);
        cases++;
      }
  console.log(`${name}: ${cases} digit combinations read back`);
}

/** The comparison form of a digit that vector code uses, on all bytes. */
function checkDigitTest() {
  for (let byte = 0; byte < 256; byte++)
    for (let n = 0; n < 5; n++) {
      const v = (byte * 3 ** n) & 255;
      must((v >= 86) + (v >= 171) === digitOf(byte, n), `byte ${byte} digit ${n}: 86/171 differs`);
    }
}

function checkExample() {
  const one = halfBytes(0x3c00);
  for (const [name, block] of Object.entries(EXAMPLES)) {
    const { codec } = OWN[name];
    must(codec.decode(block).every((v, j) => v === exampleTrits[j]), `${name}: the example block decodes wrongly`);
    must(hexOf(codec.encode(exampleTrits, one)) === hexOf(block), `${name}: the example block encodes otherwise`);
  }
  console.log('example block: right in both directions');
}

function check() {
  checkExample();
  checkDigitTest();
  checkRoundTrip('ptq1_0', ptq1_0, PTQ1_0_STAGES);
  checkRoundTrip('tq1_0', SHARED.tq1_0, TQ1_0_STAGES);
  for (const [name, codec] of Object.entries(SHARED)) checkSharedFile(name, codec);
  for (const name of Object.keys(OWN)) {
    const path = join(DIR, `${name}.txt`);
    const onDisk = existsSync(path) && readFileSync(path, 'utf8');
    must(onDisk === textOf(name), `${name}.txt is not what this program writes`);
    console.log(`${name}: as on disk`);
  }
}

if (process.argv.includes('--check')) check();
else for (const name of Object.keys(OWN)) writeFileSync(join(DIR, `${name}.txt`), textOf(name));
