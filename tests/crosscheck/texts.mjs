// The texts that the tokenizer is checked with: the files of tests/text, and what a seeded generator makes.
import fs from 'node:fs';
import path from 'node:path';

// A line of cases.txt as bytes: \n \r \t \\ and \xHH, everything else as it is.
export function unescapeLine(line) {
  const bytes = [];
  for (let i = 0; i < line.length; ) {
    if (line[i] === 0x5c) {
      const next = String.fromCharCode(line[i + 1]);
      if (next === 'x') {
        bytes.push(parseInt(line.subarray(i + 2, i + 4).toString('latin1'), 16));
        i += 4;
      } else {
        const value = { n: 10, r: 13, t: 9, '\\': 0x5c }[next];
        if (value === undefined) throw new Error(`no such escape: \\${next}`);
        bytes.push(value);
        i += 2;
      }
    } else bytes.push(line[i++]);
  }
  return Buffer.from(bytes);
}

function lines(bytes) {
  const found = [];
  for (let at = 0; at < bytes.length; ) {
    let end = bytes.indexOf(10, at);
    if (end < 0) end = bytes.length;
    found.push(bytes.subarray(at, end));
    at = end + 1;
  }
  return found;
}

// [{ name, line, bytes }]: each case; each line of the other files, and with line 0 the whole file.
export function corpus(folder) {
  const texts = [];
  lines(fs.readFileSync(path.join(folder, 'cases.txt'))).forEach((line, i) => {
    if (line[0] !== 0x23) texts.push({ name: 'cases', line: i + 1, bytes: unescapeLine(line) });
  });
  for (const name of ['english', 'code', 'scripts']) {
    const bytes = fs.readFileSync(path.join(folder, `${name}.txt`));
    texts.push({ name, line: 0, bytes });
    lines(bytes).forEach((line, i) => line.length && texts.push({ name, line: i + 1, bytes: line }));
  }
  return texts;
}

// mulberry32
export function random(seed) {
  const next = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return (t ^ (t >>> 14)) >>> 0;
  };
  const below = (n) => next() % n;
  return { below, pick: (list) => list[below(list.length)] };
}

// Characters that every version of Unicode since 12 has: PCRE2, utf8proc and node each bring their own version, and of
// characters newer than one of them it does not know whether they are letters.
// prettier-ignore
export const settled = [
  [0x01, 0x377], [0x37a, 0x37f], [0x384, 0x38a], [0x38e, 0x3a1], [0x3a3, 0x52f], [0x531, 0x556], [0x561, 0x587],
  [0x591, 0x5c7], [0x5d0, 0x5ea], [0x606, 0x61c], [0x61e, 0x70d], [0x70f, 0x74a], [0x74d, 0x7b1], [0x7c0, 0x7fa],
  [0x800, 0x82d], [0x840, 0x85b], [0x904, 0x97f], [0x981, 0x983], [0x985, 0x98c], [0x9bc, 0x9c4], [0x9c7, 0x9c8],
  [0x9cb, 0x9ce], [0x9d7, 0x9d7], [0x9dc, 0x9dd], [0x9df, 0x9e3], [0x9e6, 0x9fe], [0xa3c, 0xa3c], [0xa59, 0xa5c],
  [0xabc, 0xac5], [0xb3c, 0xb44], [0xb47, 0xb48], [0xb4b, 0xb4d], [0xb56, 0xb57], [0xb5c, 0xb5d], [0xb85, 0xb8a],
  [0xb92, 0xb95], [0xbbe, 0xbc2], [0xbc6, 0xbc8], [0xbca, 0xbcd], [0xbd7, 0xbd7], [0xc05, 0xc0c], [0xc46, 0xc48],
  [0xc4a, 0xc4d], [0xc55, 0xc56], [0xcbc, 0xcc4], [0xcc6, 0xcc8], [0xcca, 0xccd], [0xcd5, 0xcd6], [0xd3b, 0xd44],
  [0xd46, 0xd48], [0xd4a, 0xd4f], [0xd57, 0xd57], [0xdca, 0xdca], [0xdcf, 0xdd4], [0xdd8, 0xddf], [0xe01, 0xe3a],
  [0xe3f, 0xe5b], [0xec8, 0xecd], [0xf00, 0xf47], [0xf49, 0xf6c], [0xf71, 0xf97], [0xf99, 0xfbc], [0x1000, 0x10c5],
  [0x10d0, 0x1248], [0x1250, 0x1256], [0x135d, 0x137c], [0x13a0, 0x13f5], [0x1400, 0x169c], [0x16a0, 0x16f8],
  [0x1780, 0x17dd], [0x1800, 0x180e], [0x1820, 0x1878], [0x1a17, 0x1a1b], [0x1a60, 0x1a7c], [0x1ab0, 0x1abe],
  [0x1b00, 0x1b4b], [0x1b50, 0x1b7c], [0x1cd0, 0x1cf9], [0x1d00, 0x1df9], [0x1dfb, 0x1f15], [0x1f18, 0x1f1d],
  [0x1f20, 0x1f45], [0x1f48, 0x1f4d], [0x1f50, 0x1f57], [0x1f5f, 0x1f7d], [0x1f80, 0x1fb4], [0x1fb6, 0x1fc4],
  [0x1fc6, 0x1fd3], [0x1fd6, 0x1fdb], [0x1fdd, 0x1fef], [0x1ff2, 0x1ff4], [0x1ff6, 0x1ffe], [0x2000, 0x2064],
  [0x2066, 0x2071], [0x2074, 0x208e], [0x2090, 0x209c], [0x20a0, 0x20bf], [0x20d0, 0x20f0], [0x2100, 0x218b],
  [0x2190, 0x2426], [0x2440, 0x244a], [0x2460, 0x2b73], [0x2c30, 0x2c5e], [0x2c60, 0x2cf3], [0x2d00, 0x2d25],
  [0x2d30, 0x2d67], [0x2de0, 0x2e4f], [0x2e80, 0x2e99], [0x2f00, 0x2fd5], [0x3000, 0x303f], [0x3041, 0x3096],
  [0x3099, 0x30ff], [0x3105, 0x312f], [0x3131, 0x318e], [0x3190, 0x31ba], [0x3200, 0x321e], [0x3220, 0x4db5],
  [0x4dc0, 0x9fef], [0xa000, 0xa48c], [0xa490, 0xa4c6], [0xa4d0, 0xa62b], [0xa640, 0xa6f7], [0xa8e0, 0xa953],
  [0xa960, 0xa97c], [0xa980, 0xa9cd], [0xaa80, 0xaac2], [0xab30, 0xab65], [0xabc0, 0xabed], [0xac00, 0xd7a3],
  [0xd7b0, 0xd7c6], [0xd7cb, 0xd7fb], [0xe000, 0xe0ff], [0xf900, 0xfa6d], [0xfa70, 0xfad9], [0xfb00, 0xfb06],
  [0xfb13, 0xfb17], [0xfb1d, 0xfb36], [0xfb46, 0xfbc1], [0xfe00, 0xfe19], [0xfe20, 0xfe52], [0xfe70, 0xfe74],
  [0xfeff, 0xfeff], [0xff01, 0xffbe], [0xffe0, 0xffe6], [0xfffc, 0xffff], [0x10000, 0x1000b], [0x10330, 0x1034a],
  [0x10400, 0x1049d], [0x10a38, 0x10a3a], [0x11080, 0x110c1], [0x11100, 0x11134], [0x11340, 0x11344],
  [0x11347, 0x11348], [0x1134b, 0x1134d], [0x11357, 0x11357], [0x114b0, 0x114c7], [0x115b8, 0x115c0],
  [0x12000, 0x12399], [0x13000, 0x1342e], [0x16af0, 0x16af5], [0x1b000, 0x1b11e], [0x1d100, 0x1d126],
  [0x1d129, 0x1d1e8], [0x1d242, 0x1d244], [0x1d400, 0x1d454], [0x1d7ce, 0x1d7ff], [0x1e000, 0x1e006],
  [0x1e8d0, 0x1e8d6], [0x1e900, 0x1e94b], [0x1f000, 0x1f02b], [0x1f100, 0x1f10c], [0x1f1e6, 0x1f202],
  [0x1f300, 0x1f6d5], [0x1f900, 0x1f90b], [0x20000, 0x2a6d6], [0x2f800, 0x2fa1d], [0xe0020, 0xe007f],
];

const marks = [0x300, 0x301, 0x302, 0x303, 0x307, 0x308, 0x30c, 0x31b, 0x323, 0x327, 0x328, 0x338, 0x345, 0x34f, 0x5b8,
  0x5bc, 0x64e, 0x651, 0x654, 0x93c, 0x94d, 0x9be, 0xbbe, 0x1161, 0x1175, 0x11a7, 0x11a8, 0x11c2, 0x20d0, 0x3099, 0x309a,
  0x1d165, 0x110ba]; // prettier-ignore
const words = ['the', 'The', 'tree', 'Once', 'upon', 'a', 'I', 'naïve', 'STRASSE', 'snake_case', 'getElementById', 'e',
  'été', 'дерево', '木', '東京', 'こんにちは', 'カナ', '나무', 'شجرة', 'पेड़', 'ต้นไม้']; // prettier-ignore
const glue = [' ', '  ', '   ', '\n', '\n\n', '\r\n', '\t', ' \n ', ' ', '　', '', '\u2028', '\v', '', '', '', ' '];
const ends = ["'s", "'S", "'T", "'re", "'VE", "'m", "'Ll", "'d", "'ſ", '’s', "n't", "'", "''", '!', '?!', '...', ',', ';',
  ' -', '--', '(', ')', '"', '=>', '{', '}', '/*', '\\n', '#', '@', '$1', '%']; // prettier-ignore
const emoji = ['😀', '👩‍👩‍👧', '👍🏽', '🇯🇵', '🇯', '1️⃣', '❤️', '🏴󠁧󠁢󠁷󠁬󠁳󠁿', '\u200d', '\ufe0f'];
const names = ['<|im_end|>', '<|im_start|>', '<|endoftext|>', '<|im_', '|>', '<think>', '</think>', '<tool_call>', '<|fim_pad|>',
  '<think', '<', '</'];
const wrong = [[0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xed, 0xa0, 0x80], [0xc0, 0xaf], [0xf5], [0xff, 0xfe], [0xf4, 0x90],
  [0xe0, 0x80]]; // prettier-ignore

// One text of 1 to 40 pieces. Each text prefers a few kinds of piece, so that runs of like ones occur.
export function mixture(r) {
  const point = () => {
    const [first, last] = r.pick(settled);
    return String.fromCodePoint(first + r.below(last - first + 1));
  };
  const kinds = [
    () => r.pick(words),
    () => r.pick(glue),
    () => r.pick(ends),
    () => r.pick(emoji),
    () => r.pick(names),
    () => String.fromCodePoint(r.pick(marks)),
    () => String.fromCodePoint(0x300 + r.below(0x70)),
    () => String.fromCodePoint(0x1100 + r.below(0x100)),
    () => String.fromCodePoint(0xac00 + r.below(11172)),
    () => String(r.below(10 ** (1 + r.below(6)))),
    point,
    point,
    () => 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJ'[r.below(36)],
    () => r.pick([' ', 'a', '-', 'é', '中']).repeat(1 + r.below(60)),
    () => Buffer.from(r.pick(wrong)),
  ];
  const liked = [r.pick(kinds), r.pick(kinds), r.pick(kinds)];
  const pieces = [];
  for (let n = 1 + r.below(40); n > 0; n--) {
    const piece = (r.below(4) ? r.pick(liked) : r.pick(kinds))();
    pieces.push(typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece);
  }
  return Buffer.concat(pieces);
}

// Every settled character: alone, between letters, and with a mark behind it. In texts of some hundred each.
export function everyCharacter() {
  const texts = [];
  let plain = '';
  let marked = '';
  const flush = () => {
    for (const text of [plain, marked]) texts.push({ name: 'every', line: texts.length, bytes: Buffer.from(text) });
    plain = marked = '';
  };
  for (const [first, last] of settled) {
    for (let c = first; c <= last; c++) {
      if (c >= 0xd800 && c <= 0xdfff) continue;
      const character = String.fromCodePoint(c);
      plain += `${character}x${character} `;
      marked += `${character}${String.fromCodePoint(marks[c % marks.length])}${character} `;
      if (plain.length > 1500) flush();
    }
  }
  flush();
  return texts;
}

// Long runs, where anything that is not linear shows.
export function long() {
  const mega = 1 << 20;
  const texts = [
    ['letter', Buffer.alloc(mega, 'a')],
    ['spaces', Buffer.alloc(mega / 8, ' ')],
    ['newlines', Buffer.alloc(mega / 8, '\n')],
    ['emoji', Buffer.from('😀'.repeat(mega / 16))],
    ['a b', Buffer.from('a b'.repeat(mega / 8))],
    ['marks', Buffer.from('e' + '\u0301\u0323'.repeat(mega / 32))],
    ['marks out of order', Buffer.from('e' + '\u0301'.repeat(20000) + '\u0323'.repeat(20000))],
    ['invalid', Buffer.alloc(mega / 16, 0xff)],
    ['names', Buffer.from('<|im_end|'.repeat(mega / 32))],
  ];
  return texts.map(([name, bytes]) => ({ name: `long: ${name}`, line: 0, bytes }));
}
