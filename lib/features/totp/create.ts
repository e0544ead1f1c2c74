import type { Kernel, Parts } from '../../feature.ts'
import type { FactorSettings } from '../second-factors/options.ts'
import { withFactors } from '../second-factors/deps.ts'
import { confirmEnrolment, reopenEnrolment, startEnrolment } from './enrol.ts'
import { totpEndpoints } from './endpoints.ts'
import { importTotp } from './import.ts'
import { totpPage } from './pages.ts'
import { appsFor, proveByCode, readCode } from './prove.ts'

export function create(on: FactorSettings, kernel: Kernel): Parts {
  const accounts = withFactors(on, kernel)
  return {
    account: {
      apps: {
        read: readCode,
        counting: appsFor,
        prove: async (...given) => await proveByCode(...given, accounts),
        start: async (of) => await startEnrolment(of, accounts),
        reopen: async (enrolment, of) => await reopenEnrolment(enrolment, of, accounts),
        confirm: async (given) => await confirmEnrolment(given, accounts),
        import: async (user, app) => await importTotp(user, app, accounts)
      }
    },
    endpoints: totpEndpoints(accounts),
    pages: {
      routes(child, deps) {
        if (deps.offers.account) totpPage(child, deps, accounts)
      }
    }
  }
}
