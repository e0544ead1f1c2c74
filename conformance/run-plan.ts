import { configuration, type Plan } from './plans.ts'
import type { LogEntry, PlanModule, SuiteApi } from './suite-api.ts'

export interface ModuleResult {
  name: string
  result: 'passed' | 'review' | 'skipped' | 'warning' | 'failed'
  /** What a person has to know where it did not pass. */
  remarks: string[]
  seconds: number
  isWanted: boolean
}

/** A module that waits longer than this for something has failed. */
const MODULE_TIMEOUT_MS = 180_000
/** The library takes no request objects, and OpenID Connect leaves that to it. */
const MAY_BE_SKIPPED = ['oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported']

/** Runs the modules of a plan one after the other, as they share one callback address, and tells of each. */
export async function runPlan ({ api, plan, issuer, onResult }: { api: SuiteApi, plan: Plan, issuer: string, onResult(result: ModuleResult): void }): Promise<{ id: string, results: ModuleResult[] }> {
  const { id, modules } = await api.createPlan(plan.name, plan.variant, configuration(plan, issuer))
  const results: ModuleResult[] = []
  for (const module of modules) {
    const result = await runModule(api, id, module)
    results.push(result)
    onResult(result)
  }
  return { id, results }
}

async function runModule (api: SuiteApi, planId: string, module: PlanModule): Promise<ModuleResult> {
  const startedAt = performance.now()
  const moduleId = await api.startModule(planId, module)
  let state: string | undefined
  while (state === undefined && performance.now() - startedAt < MODULE_TIMEOUT_MS) state = await api.waitForEnd(moduleId)
  const [{ status, result }, log] = [await api.info(moduleId), await api.log(moduleId)]
  const judged = judge(state === undefined ? 'TIMEOUT' : status, result, log)
  return {
    name: module.testModule,
    ...judged,
    seconds: (performance.now() - startedAt) / 1000,
    isWanted: ['passed', 'review'].includes(judged.result) || (judged.result === 'skipped' && MAY_BE_SKIPPED.includes(module.testModule))
  }
}

/** A module that waits for a person to look at a page can hide a warning: what its log says counts too. */
function judge (status: string, result: string | null, log: LogEntry[]): Pick<ModuleResult, 'result' | 'remarks'> {
  const remarks = log.filter((entry) => ['FAILURE', 'WARNING'].includes(entry.result ?? '')).map(({ src, msg, result }) => `${result?.toLowerCase()}: ${src}: ${msg}`)
  const skipped = log.filter((entry) => entry.result === 'SKIPPED' || entry.msg?.startsWith('The test was skipped') === true).map(({ msg }) => String(msg))
  if (status !== 'FINISHED') return { result: 'failed', remarks: [...remarks, `ended as ${status}`] }
  if (result === 'FAILED' || log.some((entry) => entry.result === 'FAILURE')) return { result: 'failed', remarks }
  if (result === 'WARNING' || log.some((entry) => entry.result === 'WARNING')) return { result: 'warning', remarks }
  if (result === 'SKIPPED') return { result: 'skipped', remarks: skipped }
  if (result === 'REVIEW') return { result: 'review', remarks: [] }
  return { result: result === 'PASSED' ? 'passed' : 'failed', remarks: result === 'PASSED' ? [] : [`the suite says ${result}`] }
}
