import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** The oldest Java that the suite runs on. */
const JAVA = 21
const DEBIAN_JDKS = '/usr/lib/jvm'

export interface Needs {
  /** The directory of a JDK that is new enough. */
  javaHome: string
}

/** Finds what the suite is built with, or throws an error whose message is one line for each thing that is missing. */
export function findNeeds(suite: string | undefined): Needs {
  if (
    suite === undefined ||
    !existsSync(join(suite, 'src/main/java/net/openid/conformance')) ||
    !existsSync(join(suite, 'pom.xml'))
  ) {
    throw new Error('Name a checkout of the conformance suite of the OpenID Foundation: npm run conformance -- SUITE')
  }
  const javaHome = findJava()
  const missing = [
    ...(javaHome === undefined
      ? [`Java ${JAVA} or later, as a JDK: install one, or name its directory in JAVA_HOME.`]
      : []),
    ...(spawnSync('mvn', ['--version'], {
      env: { ...process.env, ...(javaHome === undefined ? {} : { JAVA_HOME: javaHome }) }
    }).status === 0
      ? []
      : ['Maven 3.6.3 or later: install it, so that mvn is on the PATH.'])
  ]
  if (javaHome === undefined || missing.length > 0)
    throw new Error(missing.map((line) => `Missing: ${line}`).join('\n'))
  return { javaHome }
}

/** The JDK of JAVA_HOME or of the PATH. If those are too old, one that Debian has installed besides. */
function findJava(): string | undefined {
  const { JAVA_HOME } = process.env
  const homes = [
    ...(JAVA_HOME === undefined ? [] : [JAVA_HOME]),
    ...[...said('java', '-XshowSettings:properties', '-version').matchAll(/java\.home = (.*)/g)].map((match) =>
      String(match[1]).trim()
    ),
    ...(existsSync(DEBIAN_JDKS) ? readdirSync(DEBIAN_JDKS).map((name) => join(DEBIAN_JDKS, name)) : [])
  ]
  return homes.find((home) => existsSync(join(home, 'bin/keytool')) && majorVersion(home) >= JAVA)
}

function majorVersion(home: string): number {
  return Number(/version "(\d+)/.exec(said(join(home, 'bin/java'), '-version'))?.[1] ?? 0)
}

/** A program's error output. Empty if there is no such program. */
function said(program: string, ...args: string[]): string {
  const { error, stderr } = spawnSync(program, args, { encoding: 'utf8' })
  return error === undefined ? stderr : ''
}
