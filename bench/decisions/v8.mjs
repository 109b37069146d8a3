// Times the cases of the module given: reads "case times" from standard input, answers with nanoseconds.
import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';
import {WASI} from 'node:wasi';

const wasi = new WASI({version: 'preview1'});
const module = await WebAssembly.compile(readFileSync(process.argv.at(-1)));
const instance = await WebAssembly.instantiate(module, wasi.getImportObject());
wasi.initialize(instance);
for await (const line of createInterface({input: process.stdin})) {
  const [verb, number] = line.split(' ');
  const start = process.hrtime.bigint();
  instance.exports[verb](Number(number));
  console.log(String(process.hrtime.bigint() - start));
}
