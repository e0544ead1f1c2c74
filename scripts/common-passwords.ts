/**
 * Writes lib/accounts/common-passwords.ts from the dictionary of @zxcvbn-ts/language-common, which is sorted by how common a
 * password is. The package is not a dependency: `npm pack @zxcvbn-ts/language-common`, unpack it, then
 * `node scripts/common-passwords.ts <the package>/src/passwords.json <its version>` (Node 22.18 or newer).
 */
import { readFileSync, writeFileSync } from 'node:fs'

const MIN_LENGTH = 8
/** ASVS 6.2.4 asks for the 3,000 most common ones. */
const MOST_COMMON = 4000
/** For a policy with a longer minimum: of these the dictionary holds a few hundred, so all of them. */
const LONG = 12
const LINE = 128

const [source, version] = process.argv.slice(2)
if (source === undefined || version === undefined) throw new Error('usage: common-passwords.ts <passwords.json> <version of the package>')

const dictionary: unknown = JSON.parse(readFileSync(source, 'utf8'))
if (!Array.isArray(dictionary)) throw new TypeError('passwords.json is not a list')

const usable = dictionary
  .filter((entry): entry is string => typeof entry === 'string')
  // Leaves out entries that would break the list apart or end the literal, and a few slurs.
  .filter((entry) => entry.length >= MIN_LENGTH && /^[!-~]+$/.test(entry) && !/[`\\]|\$\{|n[i1]gg/.test(entry))
  .map((entry) => entry.toLowerCase())
const chosen = new Set([...usable.slice(0, MOST_COMMON), ...usable.filter((entry) => entry.length >= LONG)])

const lines = ['']
for (const entry of chosen) {
  const line = lines.at(-1) ?? ''
  if (line.length + entry.length + 1 > LINE) lines.push(entry)
  else lines[lines.length - 1] = line === '' ? entry : `${line} ${entry}`
}

writeFileSync(new URL('../lib/accounts/common-passwords.ts', import.meta.url), `/**
 * The ${chosen.size} most common passwords of ${MIN_LENGTH} and more characters (of those from ${LONG} on, all the source has). Made by
 * scripts/common-passwords.ts; don't edit.
 *
 * Source: @zxcvbn-ts/language-common ${version}, MIT licence.
 * Copyright (c) 2012-2016 Dan Wheeler and Dropbox, Inc. Copyright (c) 2021 @zxcvbn-ts
 *
 * Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
 * files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
 * modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
 * Software is furnished to do so, subject to the following conditions: The above copyright notice and this permission notice
 * shall be included in all copies or substantial portions of the Software.
 *
 * THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
 * WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
 * COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
 * ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
 */
const LIST = \`
${lines.join('\n')}
\`

let entries: ReadonlySet<string> | undefined

/** All entries, in lower case, the most common first. Made at the first call. */
export function commonPasswords (): ReadonlySet<string> {
  entries ??= new Set(LIST.trim().split(/\\s/))
  return entries
}

/** True if the password, in any letter case, is on the list. */
export function isCommonPassword (password: string): boolean {
  return commonPasswords().has(password.toLowerCase())
}
`)
