/**
 * Runs the official conformance suite of the OpenID Foundation against this library: `npm run conformance -- SUITE`,
 * where SUITE is a checkout of it. The page docs/conformance.md has the requirements and the results. Builds and kept
 * files lie in `.conformance`.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { delimiter, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildSuite } from './build.ts'
import { HOST, makeCertificate, PROVIDER_NAME } from './certificate.ts'
import { ALIAS } from './clients.ts'
import { startFront } from './front.ts'
import { findNeeds } from './needs.ts'
import { type Plan, PROVIDER_PLANS, type Visit } from './plans.ts'
import { freePorts, outputOf, start, startScript, stop, untilReady } from './processes.ts'
import { RELYING_PARTY_PLANS } from './relying-party-plans.ts'
import { type PlanResult, updatePages, summary } from './report.ts'
import { runPlan } from './run-plan.ts'
import { suiteApi } from './suite-api.ts'

const SUITE_STARTS_WITHIN_MS = 180_000
const PROVIDER_STARTS_WITHIN_MS = 60_000
const PLANS = [...PROVIDER_PLANS, ...RELYING_PARTY_PLANS]
const root = fileURLToPath(new URL('..', import.meta.url))
const cache = join(root, '.conformance')

// Started processes end with this one.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    process.exit(2)
  })

try {
  const [checkout, part = ''] = process.argv.slice(2)
  process.exitCode = (await main(
    checkout,
    PLANS.filter(({ name }) => name.includes(part))
  ))
    ? 0
    : 1
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 2
}

/** Resolves to whether all results are as they should be. */
async function main(checkout: string | undefined, plans: Plan[]): Promise<boolean> {
  const { javaHome } = findNeeds(checkout)
  mkdirSync(cache, { recursive: true })
  const suite = buildSuite({ suite: resolve(String(checkout)), cache, javaHome })
  const certificate = makeCertificate({ directory: cache, javaHome })
  const [frontPort, suitePort, providerPort] = (await freePorts(3)) as [number, number, number]
  const suiteUrl = `https://localhost:${frontPort}`
  const issuer = `https://${PROVIDER_NAME}:${providerPort}`
  const suiteLog = join(cache, 'suite.log')
  const providerLog = join(cache, 'provider.log')
  const relyingPartyLog = join(cache, 'relying-party.log')
  rmSync(relyingPartyLog, { force: true })

  // The suite knows these two names and no other: it reaches nothing outside this machine, and loads no style sheet
  // from anywhere.
  const hosts = join(cache, 'hosts')
  writeFileSync(hosts, `${HOST} localhost ${PROVIDER_NAME}\n`)
  const front = await startFront({ port: frontPort, suitePort, certificate })
  const provider = startScript('provider.ts', [String(providerPort), suiteUrl, certificate.pfxFile], {
    log: providerLog,
    env: { NODE_EXTRA_CA_CERTS: certificate.pemFile }
  })
  const java = start(
    join(javaHome, 'bin/java'),
    [
      '-Xmx2g',
      `-Djdk.net.hosts.file=${hosts}`,
      '-cp',
      suite.classPath.join(delimiter),
      'StartSuite',
      '--fintechlabs.devmode=true',
      `--server.port=${suitePort}`,
      `--server.address=${HOST}`,
      `--fintechlabs.base_url=${suiteUrl}`,
      `--fintechlabs.base_mtls_url=${suiteUrl}`
    ],
    { log: suiteLog, cwd: cache }
  )
  try {
    const api = suiteApi(`http://${HOST}:${suitePort}`)
    console.log(
      `Starting version ${suite.version} (${suite.commit}) of the suite at ${suiteUrl}, and the provider ${issuer}`
    )
    await untilReady('The provider', provider, {
      log: providerLog,
      timeoutMs: PROVIDER_STARTS_WITHIN_MS,
      isReady: async () => await accepts(providerPort)
    })
    await untilReady('The suite', java, { log: suiteLog, timeoutMs: SUITE_STARTS_WITHIN_MS, isReady: api.isReady })

    const visit = async (how: Visit): Promise<string[]> =>
      JSON.parse(
        await outputOf('relying-party.ts', [`${suiteUrl}/test/a/${ALIAS}/`, JSON.stringify(how)], {
          log: relyingPartyLog,
          env: { NODE_EXTRA_CA_CERTS: certificate.pemFile }
        })
      ) as string[]
    const results: PlanResult[] = []
    const exports = join(cache, 'exports')
    mkdirSync(exports, { recursive: true })
    for (const plan of plans) {
      console.log(`\n${plan.title} (${plan.name})`)
      const { id, results: modules } = await runPlan(
        { api, plan, issuer, visit },
        ({ name, result, remarks, happened, seconds, isWanted }) => {
          console.log(
            `${isWanted ? '  ' : '! '}${result.padEnd(8)} ${name} (${seconds.toFixed(1)} ` +
              `s)${happened.length === 0 ? '' : `: ${happened.join(', ')}`}`
          )
          for (const remark of remarks) console.log(`             ${remark}`)
        }
      )
      writeFileSync(join(exports, `${plan.name}.json`), JSON.stringify(plan.configuration(issuer), null, 2))
      writeFileSync(join(exports, `${plan.name}.zip`), await api.exportPlan(id))
      results.push({ plan, modules })
    }
    console.log(`\n${summary(results)}\nExports: ${relative(process.cwd(), exports)}`)
    if (process.env['UPDATE'] === '1' && plans.length === PLANS.length) updatePages(join(root, 'docs'), suite, results)
    return (
      results.length > 0 &&
      results.every(({ modules }) => modules.length > 0 && modules.every(({ isWanted }) => isWanted))
    )
  } finally {
    front.close()
    front.closeAllConnections()
    await Promise.all([stop(java), stop(provider)])
  }
}

async function accepts(port: number): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(port, HOST)
    socket
      .once('error', () => {
        resolve(false)
      })
      .once('connect', () => {
        socket.destroy()
        resolve(true)
      })
  })
}
