#!/usr/bin/env node
/** The entry of `npx fastify-authority`. */
import { run } from './run.ts'

void run(process.argv.slice(2)).then(({ code, text, problem }) => {
  if (text !== '') process.stdout.write(`${text}\n`)
  if (problem !== '') process.stderr.write(`${problem}\n`)
  process.exitCode = code
})
