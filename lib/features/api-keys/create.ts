import { isProvisional, makesProvisional } from '../../accounts/address-proof.ts'
import { createBackground } from '../../accounts/background.ts'
import { HOST_BUDGET_MS, within } from '../../boundary/answers.ts'
import type { Kernel, Parts } from '../../feature.ts'
import { namingFailures } from '../../ports/outage.ts'
import { STORE_OPERATIONS, tracedStore } from '../../ports/tracing.ts'
import type { ApiKeyStore } from '../../ports/api-key-store.ts'
import { apiKeyEndpoints, shownKey } from './endpoints.ts'
import { createApiKeys } from './keys.ts'
import { apiKeyPages } from './pages/api-keys.ts'
import type { ApiKeySettings } from './options.ts'

export async function create({ store: given, ...on }: ApiKeySettings, kernel: Kernel): Promise<Parts> {
  const { accounts, settings } = kernel
  const { clock, onError } = accounts
  await kernel.prepare('the API key store', async () => {
    await given.prepare?.()
  })
  const calls = Object.fromEntries(
    STORE_OPERATIONS.api_keys.map((name) => {
      const method = given[name as keyof ApiKeyStore] as (...args: unknown[]) => Promise<unknown>
      return [name, (...args: unknown[]) => within(HOST_BUDGET_MS, clock, () => method.apply(given, args))]
    })
  ) as unknown as ApiKeyStore
  const store = tracedStore('api_keys', namingFailures('api_keys', calls))
  const uses = createBackground({ clock, onError })
  const keys = createApiKeys(on, {
    ...accounts,
    store,
    uses,
    audience: settings.accessToken.audience,
    scopes: settings.scopes,
    resources: settings.apis.resources
  })
  return {
    account: {
      apiKeys: keys,
      // Someone may have registered with another person's email address and made keys. When the owner of the address
      // takes over the account, these keys end.
      end: async (user, ending, { origin }) => {
        if (ending.what !== 'provisional') return
        for (const { id, createdAt } of await keys.list(user.id))
          if (isProvisional({ linkedAt: createdAt, provisional: makesProvisional(user) }, user))
            await keys.revoke(user.id, id, { by: 'mailbox', origin })
      },
      exported: async ({ id }) => ({ api_keys: (await keys.list(id)).map(shownKey) }),
      endRest: async (userId, origin) => {
        await keys.revokeAll(userId, { by: 'account_removed', origin })
      }
    },
    endpoints: apiKeyEndpoints(keys),
    pages: on.pages ? apiKeyPages(keys, on) : {},
    sweep: async (now) => {
      await given.sweep?.(now)
    },
    close: async () => {
      await uses.close()
    }
  }
}
