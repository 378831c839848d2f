// Vocabularies (byte-level BPE) from Hugging Face's form, tokenizer.json, to that of GGUF, and back.
//
//   node vocab_gguf.mjs tokenizer.json out.gguf [eos-token]
//
// writes a GGUF file that holds a tokenizer and no tensors.
// Token types as llama.cpp's converter gives them: an added token is a control token (3) if it is marked special or is
// written <|...|>, otherwise user-defined (4); an id that no token has is unused (5).
import fs from 'node:fs';
import { pathToFileURL } from 'node:url';

export function isControl(added) {
  return added.special || (added.content.startsWith('<|') && added.content.endsWith('|>'));
}

export function vocabularyOf(json) {
  const tokens = [];
  const types = [];
  for (const [text, id] of Object.entries(json.model.vocab)) [tokens[id], types[id]] = [text, 1];
  for (const added of json.added_tokens) {
    tokens[added.id] = added.content;
    types[added.id] = isControl(added) ? 3 : 4;
  }
  for (let id = 0; id < tokens.length; id++) {
    if (tokens[id] === undefined) [tokens[id], types[id]] = [`[PAD${id}]`, 5];
  }
  const merges = json.model.merges.map((merge) => (Array.isArray(merge) ? merge.join(' ') : merge));
  return { tokens, types, merges };
}

const [U32, I32, BOOL, STRING, ARRAY] = [4, 5, 7, 8, 9];

export function vocabularyGguf(json, eos) {
  const { tokens, types, merges } = vocabularyOf(json);
  const pieces = [];
  let keys = 0;
  const u32 = (value) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    pieces.push(bytes);
  };
  const u64 = (value) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(value));
    pieces.push(bytes);
  };
  const string = (value) => {
    const bytes = Buffer.from(value, 'utf8');
    u64(bytes.length);
    pieces.push(bytes);
  };
  const key = (name, type) => {
    keys++;
    string(name);
    u32(type);
  };
  const strings = (name, values) => {
    key(name, ARRAY);
    u32(STRING);
    u64(values.length);
    values.forEach(string);
  };
  key('general.architecture', STRING);
  string('qwen3');
  key('tokenizer.ggml.model', STRING);
  string('gpt2');
  key('tokenizer.ggml.pre', STRING);
  string('qwen2');
  strings('tokenizer.ggml.tokens', tokens);
  key('tokenizer.ggml.token_type', ARRAY);
  u32(I32);
  u64(types.length);
  types.forEach(u32);
  strings('tokenizer.ggml.merges', merges);
  key('tokenizer.ggml.eos_token_id', U32);
  u32(tokens.indexOf(eos));
  key('tokenizer.ggml.add_bos_token', BOOL);
  pieces.push(Buffer.from([0]));

  const body = pieces.splice(0);
  pieces.push(Buffer.from('GGUF'));
  u32(3);
  u64(0);
  u64(keys);
  const file = Buffer.concat([...pieces, ...body]);
  return Buffer.concat([file, Buffer.alloc((32 - (file.length % 32)) % 32)]);
}

// The tokenizer of a GGUF file in the form of `like`, a tokenizer.json of the same kind: its own tokens and merges, the other's
// normalizer, pre-tokenizer and decoder.
export function vocabularyJson(path, like) {
  const file = fs.readFileSync(path);
  let at = 24;
  const u32 = () => file.readUInt32LE((at += 4) - 4);
  const u64 = () => Number(file.readBigUInt64LE((at += 8) - 8));
  const string = () => {
    const n = u64();
    return file.toString('utf8', at, (at += n));
  };
  const widths = [1, 1, 2, 2, 4, 4, 4, 1, , , 8, 8, 8]; // of numbers, by type
  const value = (type) => {
    if (type === STRING) return string();
    if (type === ARRAY) {
      const element = u32();
      return Array.from({ length: u64() }, () => value(element));
    }
    at += widths[type];
    return file.readUIntLE(at - widths[type], Math.min(widths[type], 4));
  };
  const keys = {};
  for (let n = Number(file.readBigUInt64LE(16)); n > 0; n--) {
    const name = string();
    keys[name] = value(u32());
  }
  const json = structuredClone(like);
  const tokens = keys['tokenizer.ggml.tokens'];
  const types = keys['tokenizer.ggml.token_type'];
  json.model.vocab = {};
  json.added_tokens = [];
  tokens.forEach((content, id) => {
    if (types[id] === 1) json.model.vocab[content] = id;
    else json.added_tokens.push({ ...like.added_tokens[0], id, content, special: types[id] === 3 });
  });
  json.model.merges = keys['tokenizer.ggml.merges'];
  return json;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [from, to, eos = '<|im_end|>'] = process.argv.slice(2);
  fs.writeFileSync(to, vocabularyGguf(JSON.parse(fs.readFileSync(from, 'utf8')), eos));
}
