/** The suite's facts about a module that it has run. */
export interface ModuleInfo {
  status: string
  result: string | null
}
/** `WAITING`: for what the library does. `INTERRUPTED`: it has ended, and could not do all of what it is for. */
export type ModuleState = 'WAITING' | 'FINISHED' | 'INTERRUPTED'
export interface LogEntry {
  src?: string
  msg?: string
  result?: string
}
export interface PlanModule {
  testModule: string
  variant?: Record<string, string>
}

export interface SuiteApi {
  isReady(): Promise<boolean>
  createPlan(
    name: string,
    variant: Record<string, string>,
    configuration: unknown
  ): Promise<{ id: string; modules: PlanModule[] }>
  /** Starts a module; resolves to its id. It may not be ready yet. */
  startModule(planId: string, module: PlanModule): Promise<string>
  /** Resolves when the module is in one of these states, or after some time to `undefined`. */
  waitFor(moduleId: string, states: ModuleState[]): Promise<ModuleState | undefined>
  info(moduleId: string): Promise<ModuleInfo>
  log(moduleId: string): Promise<LogEntry[]>
  /** A zip with a page for each module. */
  exportPlan(planId: string): Promise<Buffer>
}

/** The suite's own HTTP interface, asked without its front. It believes the header. */
export function suiteApi(origin: string): SuiteApi {
  async function call(
    path: string,
    { method = 'GET', query = {}, body }: { method?: string; query?: Record<string, string>; body?: unknown } = {}
  ): Promise<Response> {
    const response = await fetch(`${origin}/api/${path}?${new URLSearchParams(query).toString()}`, {
      method,
      headers: { 'x-forwarded-proto': 'https', 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
    return response
  }

  async function json<T>(path: string, options?: Parameters<typeof call>[1]): Promise<T> {
    return (await (await call(path, options)).json()) as T
  }

  return {
    isReady: async () =>
      await call('runner/available').then(
        () => true,
        () => false
      ),
    createPlan: async (planName, variant, configuration) =>
      await json('plan', {
        method: 'POST',
        query: { planName, variant: JSON.stringify(variant) },
        body: configuration
      }),
    async startModule(plan, { testModule, variant }) {
      const { id } = await json<{ id: string }>('runner', {
        method: 'POST',
        query: { test: testModule, plan, ...(variant === undefined ? {} : { variant: JSON.stringify(variant) }) }
      })
      return id
    },
    async waitFor(moduleId, states) {
      const { state } = await json<{ state?: ModuleState }>(`runner/${moduleId}/wait-state`, {
        query: { states: states.join(','), timeoutMs: '30000' }
      })
      return state
    },
    info: async (moduleId) => await json(`info/${moduleId}`),
    log: async (moduleId) => await json(`log/${moduleId}`),
    exportPlan: async (planId) => Buffer.from(await (await call(`plan/exporthtml/${planId}`)).arrayBuffer())
  }
}
