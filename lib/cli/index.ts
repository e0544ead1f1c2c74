#!/usr/bin/env node
/** The entry of `npx fastify-authority`. */
import { run } from './run.ts'

/** The exit code of a command that has ended. */
let ended: number | null = null

// A reader such as `head` may close the pipe before the end.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  process.exit(code === 'EPIPE' ? (ended ?? 0) : 3)
})

// Node.js ends without an answer if a store never gives one and keeps nothing open.
process.exitCode = 3
void run(process.argv.slice(2)).then(({ code, text, problem }) => {
  ended = code
  if (text !== '') process.stdout.write(`${text}\n`)
  if (problem !== '') process.stderr.write(`${problem}\n`)
  process.exitCode = code
})
