import type { Plan, Play, Visit } from './plans.ts'
import type { LogEntry, ModuleState, PlanModule, SuiteApi } from './suite-api.ts'

export interface ModuleResult {
  name: string
  result: 'passed' | 'review' | 'skipped' | 'warning' | 'failed'
  /** Remarks for a reader on modules that did not pass. */
  remarks: string[]
  /** The library's result as a relying party, in each sign-in. */
  happened: string[]
  seconds: number
  isWanted: boolean
}

/** A module that waits longer than this for something has failed. */
const MODULE_TIMEOUT_MS = 180_000
/** The library takes no request objects and no unsigned ID tokens, and OpenID Connect leaves both to it. */
const MAY_BE_SKIPPED = [
  'oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported',
  'oidcc-client-test-idtoken-sig-none'
]

/** The suite does not know the claim `sid` of back-channel logout in this module. */
const MAY_WARN = ['fapi2-security-profile-final-test-claims-parameter-identity-claims']

interface Run {
  api: SuiteApi
  plan: Plan
  /** The issuer of the library as the provider. */
  issuer: string
  /** Has a person sign in by the suite, and resolves to what came of each sign-in. */
  visit(visit: Visit): Promise<string[]>
}

/** Runs the modules of a plan one after the other, as they share one callback address, and tells of each. */
export async function runPlan(
  run: Run,
  onResult: (result: ModuleResult) => void
): Promise<{ id: string; results: ModuleResult[] }> {
  const { api, plan, issuer } = run
  const { id, modules } = await api.createPlan(plan.name, plan.variant, plan.configuration(issuer))
  const results: ModuleResult[] = []
  for (const module of modules) {
    const result = await runModule(run, id, module)
    results.push(result)
    onResult(result)
  }
  return { id, results }
}

async function runModule(run: Run, planId: string, module: PlanModule): Promise<ModuleResult> {
  const { api, plan } = run
  const startedAt = performance.now()
  const moduleId = await api.startModule(planId, module)
  const reaches = async (states: ModuleState[]): Promise<ModuleState | undefined> => {
    let state: ModuleState | undefined
    while (state === undefined && performance.now() - startedAt < MODULE_TIMEOUT_MS)
      state = await api.waitFor(moduleId, states)
    return state
  }
  const played =
    plan.play === undefined
      ? null
      : await reaches(['WAITING', 'INTERRUPTED']).then(
          async () => await playModule(run, plan.play?.(module.testModule))
        )
  const state = await reaches(['FINISHED', 'INTERRUPTED'])
  const [{ status, result }, log] = [await api.info(moduleId), await api.log(moduleId)]
  const judged = judge(state === undefined ? 'TIMEOUT' : status, result, log)
  return {
    name: module.testModule,
    result: played?.mistake === undefined ? judged.result : 'failed',
    remarks: [...judged.remarks, ...(played?.mistake === undefined ? [] : [played.mistake])],
    happened: played?.happened ?? [],
    seconds: (performance.now() - startedAt) / 1000,
    isWanted:
      played?.mistake === undefined &&
      (['passed', 'review'].includes(judged.result) ||
        (judged.result === 'skipped' && MAY_BE_SKIPPED.includes(module.testModule)) ||
        (judged.result === 'warning' && MAY_WARN.includes(module.testModule)))
  }
}

async function playModule({ visit }: Run, play: Play | undefined): Promise<{ happened: string[]; mistake?: string }> {
  if (play === undefined)
    return {
      happened: [],
      mistake: 'nobody has said yet what the library does in this module: see relying-party-plans.ts'
    }
  const { wanted, ...how } = play
  const happened = await visit(how)
  return wanted.join() === happened.join() ? { happened } : { happened, mistake: `wanted: ${wanted.join(', ')}` }
}

/** A module that waits for a person to look at a page can hide a warning: what its log says counts too. */
function judge(status: string, result: string | null, log: LogEntry[]): Pick<ModuleResult, 'result' | 'remarks'> {
  const remarks = log
    .filter((entry) => ['FAILURE', 'WARNING'].includes(entry.result ?? ''))
    .map(({ src, msg, result }) => `${result?.toLowerCase()}: ${src}: ${msg}`)
  const skipped = log
    .filter((entry) => entry.result === 'SKIPPED' || entry.msg?.startsWith('The test was skipped') === true)
    .map(({ msg }) => String(msg))
  if (status !== 'FINISHED') return { result: 'failed', remarks: [...remarks, `ended as ${status}`] }
  if (result === 'FAILED' || log.some((entry) => entry.result === 'FAILURE')) return { result: 'failed', remarks }
  if (result === 'WARNING' || log.some((entry) => entry.result === 'WARNING')) return { result: 'warning', remarks }
  if (result === 'SKIPPED') return { result: 'skipped', remarks: skipped }
  if (result === 'REVIEW') return { result: 'review', remarks: [] }
  return {
    result: result === 'PASSED' ? 'passed' : 'failed',
    remarks: result === 'PASSED' ? [] : [`the suite says ${result}`]
  }
}
