#!/usr/bin/env node
/** The entry of `npx fastify-authority`. */
import { run } from './run.ts'

/** The exit code of the command. `null`: the command has not ended yet. */
let ended: number | null = null

// A reader such as `head` may close the pipe early. A closed pipe is no failure of the command.
process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
  process.exit(code === 'EPIPE' ? (ended ?? 0) : 3)
})

// Node.js exits before the promise settles if a store never answers and keeps no handle open. The code is 3 then.
process.exitCode = 3
void run(process.argv.slice(2)).then(({ code, text, problem }) => {
  ended = code
  if (text !== '') process.stdout.write(`${text}\n`)
  if (problem !== '') process.stderr.write(`${problem}\n`)
  process.exitCode = code
})
