import type { Kernel, Parts } from '../../feature.ts'
import { completeProfile } from '../../accounts/register.ts'
import type { FederatedArrival } from './user.ts'
import type { ConnectionSettings } from './options.ts'
import { connectionsOf } from './connection.ts'
import { connectionEndpoints } from './endpoints.ts'
import { tokenExchange } from './exchange.ts'
import { connectPages } from './pages/part.ts'

export async function create(on: readonly ConnectionSettings[], kernel: Kernel): Promise<Parts> {
  const { accounts, assertions, settings } = kernel
  const { clock, service, users } = accounts
  // Never happens: `checkConnections` requires an assertion store. The check is only for the type.
  if (assertions === undefined) return {}
  const connections = await connectionsOf(on, settings, {
    ...kernel,
    clock,
    sealer: kernel.sealerFor('connection grants'),
    callbackUrl: (id) => `${kernel.url('connect')}/${id}/callback`
  })
  const keepsLinks = users.listIdentities !== undefined && users.unlinkIdentity !== undefined
  const { registration } = settings
  const required = registration === false ? [] : (registration.fields?.required ?? [])
  const complete: FederatedArrival['complete'] = (profile) => completeProfile(profile, required)
  return {
    account: { connections },
    grants: tokenExchange(connections, { assertions, complete }),
    endpoints: keepsLinks ? connectionEndpoints(connections) : [],
    pages: connectPages(connections, { service, assertions, clock, keepsLinks, complete })
  }
}
