import { UpstreamError } from '../errors.ts'
import type { ConnectionOption, ConnectionOptions, ProviderMistake } from '../ports/provider.ts'
import { authenticatedAt, connection, openidProvider, openidWishes, optionsOf, profileClaims, text } from './make.ts'

const HOST = 'https://login.microsoftonline.com'
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** The tenant of all personal accounts. */
const CONSUMERS = '9188040d-6c67-4c5b-b112-36a304b66dad'

export interface MicrosoftOptions extends ConnectionOptions {
  clientSecret: string
  /**
   * The accounts that may sign in: those of one organization (its tenant id), of any organization (`organizations`),
   * personal ones (`consumers`), or of any organization and personal ones (`common`). Default: `common`.
   */
  tenant?: 'common' | 'organizations' | 'consumers' | (string & {}) | undefined
  /** The ids of the tenants whose accounts may sign in. Default or `[]`: no restriction except by `tenant`. */
  allowedTenants?: string[] | undefined
  /**
   * True if the app registration adds the optional claim `auth_time`, which proves a fresh sign-in. Default: `false`.
   */
  authTime?: boolean | undefined
}

/**
 * Sign-in with Microsoft: work and school accounts of Entra ID, and personal ones. `oid` and the tenant identify a
 * person. An email address is used only with the optional claim `xms_edov`, because an administrator of a tenant
 * can give an account any address.
 * @see docs/guides/connections/microsoft.md
 * @example connections: [microsoft({ clientId, clientSecret, tenant: 'organizations', allowedTenants: ['…'] })]
 */
export function microsoft(given: MicrosoftOptions): ConnectionOption {
  const { tenant = 'common', allowedTenants = [], authTime = false, ...options } = optionsOf('microsoft', given)
  const place = `${HOST}/${tenant}`
  return connection(
    options,
    {
      id: 'microsoft',
      name: 'Microsoft',
      mark: {
        '#F25022': 'M1 1h10.5v10.5H1z',
        '#7FBA00': 'M12.5 1H23v10.5H12.5z',
        '#00A4EF': 'M1 12.5h10.5V23H1z',
        '#FFB900': 'M12.5 12.5H23V23H12.5z'
      }
    },
    openidProvider({
      issuer: `${place}/v2.0`,
      endpoints: {
        authorization: `${place}/oauth2/v2.0/authorize`,
        token: `${place}/oauth2/v2.0/token`,
        keys: `${place}/discovery/v2.0/keys`
      },
      signingAlgs: ['RS256'],
      clientAuthentication: 'client_secret_post',
      secretRequired: true,
      provesFreshness: authTime,
      mistake: mistakeOf(tenant, allowedTenants),
      wishes: ({ uiLocales: _uiLocales, maxAge, ...wishes }) =>
        openidWishes({ ...wishes, ...(authTime ? { maxAge } : {}) }),
      acceptsIssuer: (iss) => issuerOf(iss.slice(HOST.length + 1, -'/v2.0'.length)) === iss,
      assertion(claims) {
        const tid = text(claims['tid'])
        const subject = text(claims['oid'])
        if (tid === undefined || issuerOf(tid) !== claims['iss'] || subject === undefined)
          throw new UpstreamError(
            'id_token',
            'The ID token of Microsoft has no oid, or a tid that is not that of its issuer.'
          )
        if (!isLetIn(tid, tenant, allowedTenants))
          throw new UpstreamError('email', 'The Microsoft account is of a tenant that this connection does not let in.')
        // `xms_edov` says that Microsoft has verified the owner of the email domain. The claim has three spellings.
        const verified = claims['xms_edov'] === true || claims['xms_edov'] === '1' || claims['xms_edov'] === 'true'
        return {
          subject,
          issuer: issuerOf(tid),
          email: text(claims['email']),
          emailVerified: verified,
          emailAuthoritative: verified,
          profile: profileClaims(claims),
          authenticatedAt: authenticatedAt(claims)
        }
      }
    })
  )
}

/** The issuer of a tenant. `undefined` if `tid` is no tenant id. */
function issuerOf(tid: string): string | undefined {
  return UUID.test(tid) ? `${HOST}/${tid}/v2.0` : undefined
}

/**
 * Checks the tenant of an account against the options. A valid signature is not enough, because the key sets of
 * organizations and of personal accounts overlap.
 */
function isLetIn(tid: string, tenant: string, allowed: readonly string[]): boolean {
  if (allowed.length > 0 && !allowed.includes(tid)) return false
  if (tenant === 'organizations') return tid !== CONSUMERS
  if (tenant === 'consumers') return tid === CONSUMERS
  return tenant === 'common' || tid === tenant
}

function mistakeOf(tenant: unknown, allowed: unknown): ProviderMistake | null {
  const isId = (id: unknown): boolean => typeof id === 'string' && UUID.test(id)
  if (!isId(tenant) && tenant !== 'common' && tenant !== 'organizations' && tenant !== 'consumers')
    return {
      option: 'tenant',
      got: tenant,
      takes: '"common", "organizations", "consumers" or a tenant id, which is a UUID in lower case'
    }
  if (!Array.isArray(allowed) || !allowed.every(isId))
    return { option: 'allowedTenants', got: allowed, takes: 'an array of tenant ids, which are UUIDs in lower case' }
  return null
}
