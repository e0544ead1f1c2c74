import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Events } from '../../events.ts'
import { accountKey, type AttemptDeps, countFailure, reserveAttempt, secondFactorKey } from '../../limits/attempt.ts'
import { parseBypassList } from '../../limits/bypass-list.ts'
import type { RateLimitsOf, RuleName, SecondFactorCheck } from '../../limits/rules.ts'
import type { AttemptLimit, AttemptOutcome } from '../../ports/attempt-store.ts'
import type { Clock } from '../../ports/clock.ts'
import type { User } from '../../ports/user-store.ts'
import { type AttemptCheck, limitOf, countersOf } from './attempt-limits.ts'
import { attemptDevice, type AttemptDeviceDeps, factorBrowsers } from './known-browsers.ts'
import { infoOf, LimitedError, refusalReports, refuse, showStanding } from './error-reply.ts'

/** The user of the account before and after an attempt, so that they need not be looked up twice. */
export interface AttemptUser {
  /**
   * The user just before the attempt. `null`: the browser is not known for the account, or the attempt does not count
   * under the rule `account`.
   */
  known: User | null
  /** True if the user of a `secondFactor` check has given their second factor in this browser before. */
  isKnown: boolean
  /** Called by the work with the user's state after it, if the work knows that state. */
  leaves(user: User): void
}

export interface RequestLimiter {
  /**
   * For passwords and other secrets that can be guessed or that are expensive to check: counts the attempt, does the
   * work, and gives the count back depending on the outcome (see limits/attempt). A second factor that can't be guessed
   * counts as by `countFailure`.
   * @throws LimitedError before the work, if a limit refuses. For a second factor that can't be guessed: after the
   * work, instead of its failure
   */
  reserve<T>(
    request: FastifyRequest,
    reply: FastifyReply,
    check: AttemptCheck | SecondFactorCheck,
    work: (user: AttemptUser) => Promise<T>
  ): Promise<T>
  /**
   * Like `reserve`, for an attempt by the host's own code. Such an attempt has no request and no address, so it counts
   * only under the rule `account`.
   * @throws LimitedError
   */
  reserveAccount<T>(account: string, work: () => Promise<T>): Promise<T>
  /**
   * For refresh tokens, codes, one-time tokens and client secrets: does the work, and counts it under `refresh` if the
   * proof fails.
   * @throws LimitedError instead of a failure that is over the limit
   */
  countFailure<T>(request: FastifyRequest, reply: FastifyReply, work: () => Promise<T>): Promise<T>
  /**
   * Counts work that a stranger's request causes, such as a fetch. The answer has no headers of the limit, because the
   * work is no attempt.
   * @throws LimitedError before the work has done anything
   */
  countWork<T>(request: FastifyRequest, rule: 'clientMetadata', work: () => Promise<T>): Promise<T>
  /** True if the user has given their second factor in this browser before, with the present password and factors. */
  knows(request: FastifyRequest, check: SecondFactorCheck): boolean
  /**
   * Remembers in the browser that the user has given their second factor there. Does nothing once the reply is sent.
   */
  makeKnown(request: FastifyRequest, reply: FastifyReply, check: SecondFactorCheck): void
}

interface RequestLimiterDeps extends AttemptDeviceDeps {
  /** The counters of attempts: @fastify/rate-limit, with an `AttemptStore` as its store. */
  attempts: {
    reserve(attemptId: string, limits: readonly AttemptLimit[]): Promise<AttemptOutcome>
    refund(attemptId: string, limits: readonly AttemptLimit[]): void | Promise<void>
  }
  events: Events
  clock: Pick<Clock, 'monotonic'>
}

type Limits = RateLimitsOf<FastifyRequest, FastifyReply>

/** Applies the limits of the option `rateLimit` to requests. `false`: no limits. */
export function createRequestLimiter(options: Limits | false, deps: RequestLimiterDeps): RequestLimiter {
  const { attempts, random } = deps
  const browsers = factorBrowsers(deps)
  if (options === false)
    return {
      async reserve(request, reply, check, work) {
        const ofFactor = check.rule === 'secondFactor' ? check : null
        const isKnown = ofFactor !== null && browsers.knows(request, ofFactor)
        const result = await work({ known: null, isKnown, leaves() {} })
        if (ofFactor !== null) browsers.add(request, reply, ofFactor)
        return result
      },
      reserveAccount: async (_account, work) => await work(),
      countFailure: async (_request, _reply, work) => await work(),
      countWork: async (_request, _rule, work) => await work(),
      knows: browsers.knows,
      makeKnown: browsers.add
    }
  const bypass = parseBypassList(options.bypass)
  const tell = refusalReports(deps)
  const attemptDeps = (request: FastifyRequest, reply: FastifyReply): AttemptDeps => ({
    reserve: attempts.reserve,
    refund: attempts.refund,
    show(standings) {
      showStanding(reply, standings)
    },
    refuse: async (by) => await refuse(request, reply, by, options.onLimit, { ...deps, tell })
  })

  /**
   * Sets no headers, emits no event and does not call `onLimit`, because the attempt or the work has no reply of its
   * own.
   */
  const silently: AttemptDeps = {
    reserve: attempts.reserve,
    refund: attempts.refund,
    show() {},
    async refuse(by) {
      const info = infoOf(by)
      tell(info)
      throw new LimitedError(info)
    }
  }

  const counted = async <T>(
    limits: readonly AttemptLimit[],
    givenBack: readonly AttemptLimit[],
    work: () => Promise<T>,
    by: AttemptDeps
  ): Promise<T> =>
    limits.length === 0 ? await work() : await reserveAttempt({ id: random.id(), limits, givenBack }, work, by)

  const countUnderRefresh: RequestLimiter['countFailure'] = (request, reply, work) => {
    const plan = async (): Promise<{ id: string; limits: AttemptLimit[] }> => ({
      id: random.id(),
      limits: await countersOf(request, { rule: 'refresh' }, null, { options, bypass, deps })
    })
    return countFailure(plan, work, attemptDeps(request, reply))
  }

  const reserveSecondFactor = async <T>(
    request: FastifyRequest,
    reply: FastifyReply,
    check: SecondFactorCheck,
    given: (user: AttemptUser) => Promise<T>
  ): Promise<T> => {
    const { secondFactor: rule } = options.rules
    const known = browsers.keyOf(request, check)
    const work = async (): Promise<T> => await given({ known: null, isKnown: known !== null, leaves() {} })
    const { userId, canBeGuessed } = check
    const key = known ?? secondFactorKey(userId)
    const limits = rule === false ? [] : [limitOf('secondFactor', rule, { key, max: rule.max })]
    const result = !canBeGuessed
      ? await countUnderRefresh(request, reply, work)
      : await counted(limits, limits, work, attemptDeps(request, reply))
    browsers.add(request, reply, check)
    return result
  }

  return {
    async reserve(request, reply, check, work) {
      if (check.rule === 'secondFactor') return await reserveSecondFactor(request, reply, check, work)
      const device = options.rules.account === false ? null : await attemptDevice(request, check.account, deps)
      const limits = await countersOf(request, check, device?.known ?? null, { options, bypass, deps })
      let left: User | undefined
      const worked = () =>
        work({
          known: device?.user ?? null,
          isKnown: false,
          leaves(user) {
            left = user
          }
        })
      const givenBack = check.kept === true ? [] : limits.filter(({ rule }) => countsFailuresOnly(options, rule))
      const result = await counted(limits, givenBack, worked, attemptDeps(request, reply))
      await device?.remember(reply, left)
      return result
    },
    async reserveAccount(account, work) {
      const { account: rule } = options.rules
      const limits = rule === false ? [] : [limitOf('account', rule, { key: accountKey(account), max: rule.max })]
      return await counted(limits, countsFailuresOnly(options, 'account') ? limits : [], work, silently)
    },
    countFailure: countUnderRefresh,
    async countWork(request, rule, work) {
      const limits = await countersOf(request, { rule }, null, { options, bypass, deps })
      // Never rejects, because `reserveAttempt` would give the attempt back after an outage, and work that was done
      // must count.
      const settled = async () => (await Promise.allSettled([work()]))[0]
      const outcome = await counted(limits, [], settled, silently)
      if (outcome.status === 'rejected') throw outcome.reason
      return outcome.value
    },
    knows: browsers.knows,
    makeKnown: browsers.add
  }
}

function countsFailuresOnly(options: Limits, rule: string): boolean {
  const found = options.rules[rule as RuleName]
  return found !== false && found.count === 'failed'
}
