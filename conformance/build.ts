import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const START_SUITE = fileURLToPath(new URL('StartSuite.java', import.meta.url))

/** The suite's needs besides its own dependencies: a MongoDB in memory, and a compiler that goes on after an error. */
const ADDED = [
  { groupId: 'de.bwaldvogel', artifactId: 'mongo-java-server', version: '1.47.0' },
  { groupId: 'org.eclipse.jdt', artifactId: 'ecj', version: '3.42.0' }
]

export interface Suite {
  /** The version in its application.properties, such as `5.2.4`. */
  version: string
  /** As `commitOf` says. */
  commit: string
  /** The class path that starts it. */
  classPath: string[]
}

/**
 * Builds the suite below `cache`, once for each commit. The checkout is only read: the pom that Maven gets is a copy,
 * and the compiler takes the sources from where they are.
 */
export function buildSuite({ suite, cache, javaHome }: { suite: string; cache: string; javaHome: string }): Suite {
  const resources = join(suite, 'src/main/resources')
  const version =
    /^fintechlabs\.version=(.+)$/m.exec(readFileSync(join(resources, 'application.properties'), 'utf8'))?.[1]?.trim() ??
    'unknown'
  const commit = commitOf(suite)
  const directory = join(cache, `suite-${commit}`)
  const [libs, classes, done] = [join(directory, 'libs'), join(directory, 'classes'), join(directory, 'done')]

  // Only a clean commit says what was compiled.
  if (!existsSync(done) || !/^[0-9a-f]+$/.test(commit)) {
    rmSync(directory, { recursive: true, force: true })
    mkdirSync(directory, { recursive: true })
    console.log('Fetching the dependencies of the suite with Maven')
    writeFileSync(join(directory, 'pom.xml'), adapted(readFileSync(join(suite, 'pom.xml'), 'utf8')))
    const maven = [
      '--quiet',
      '--batch-mode',
      '--no-transfer-progress',
      'dependency:copy-dependencies',
      '-DincludeScope=runtime',
      `-DoutputDirectory=${libs}`
    ]
    const fetched = spawnSync('mvn', maven, {
      cwd: directory,
      env: { ...process.env, JAVA_HOME: javaHome },
      encoding: 'utf8'
    })
    if (fetched.status !== 0)
      throw new Error(`Maven could not fetch the dependencies of the suite.\n${fetched.stdout}${fetched.stderr}`)

    console.log('Compiling the suite')
    compile({ suite, libs, classes, javaHome, log: join(directory, 'compile.log') })
    writeFileSync(done, '')
  }
  return { version, commit, classPath: [classes, resources, join(libs, '*')] }
}

/**
 * The abbreviated commit of a checkout, with `-dirty` where files were changed, or `unknown` where git does not know.
 */
function commitOf(directory: string): string {
  const { status, stdout } = spawnSync('git', ['-C', directory, 'describe', '--always', '--dirty', '--exclude', '*'], {
    encoding: 'utf8'
  })
  return status === 0 ? stdout.trim() : 'unknown'
}

/**
 * The pom without `org.multipaz`, a library for documents on phones that not every mirror of Maven Central has. Only
 * modules that have nothing to do with OpenID Connect use it.
 */
function adapted(pom: string): string {
  const added = ADDED.map(
    (dependency) =>
      `<dependency>${Object.entries(dependency)
        .map(([name, value]) => `<${name}>${value}</${name}>`)
        .join('')}</dependency>`
  ).join('')
  return pom
    .replace(/<dependency>\s*<groupId>org\.multipaz<\/groupId>[\s\S]*?<\/dependency>/g, '')
    .replace(/<\/dependencies>(?=\s*<build>)/, (end) => `${added}${end}`)
}

/** A class without its library becomes one that throws when it is used. An error in any other file stops the build. */
function compile({
  suite,
  libs,
  classes,
  javaHome,
  log
}: {
  suite: string
  libs: string
  classes: string
  javaHome: string
  log: string
}): void {
  const jars = readdirSync(libs).map((name) => join(libs, name))
  const compiler = jars.filter((jar) => /\/ecj-[^/]*\.jar$/.test(jar))
  const { stderr } = spawnSync(
    join(javaHome, 'bin/java'),
    [
      '-cp',
      compiler.join(delimiter),
      'org.eclipse.jdt.internal.compiler.batch.Main',
      '-proceedOnError',
      '-nowarn',
      '-proc:none',
      '-parameters',
      '-g',
      '--release',
      '21',
      '-encoding',
      'UTF-8',
      '-d',
      classes,
      '-cp',
      jars.join(delimiter),
      join(suite, 'src/main/java'),
      START_SUITE
    ],
    { encoding: 'utf8', maxBuffer: 1 << 28 }
  )
  writeFileSync(log, stderr)
  const files = new Set([...stderr.matchAll(/ERROR in (\S+\.java) /g)].map((match) => String(match[1])))
  const unexpected = [...files].filter((file) => !/multipaz|mdoc/i.test(readFileSync(file, 'utf8')))
  if (unexpected.length > 0 || !existsSync(join(classes, 'StartSuite.class')))
    throw new Error(`The suite does not compile; the errors are in ${log}\n${unexpected.join('\n')}`)
}
