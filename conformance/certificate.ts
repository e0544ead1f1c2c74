import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** The address of all servers. */
export const HOST = '127.0.0.1'
/** The name of the provider. Only the suite resolves it, by a hosts file of its own. */
export const PROVIDER_NAME = 'provider.test'

const PASSPHRASE = 'conformance'

/** Those of BCP 195, which FAPI wants. */
const CIPHERS = [
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'TLS_AES_128_GCM_SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384'
].join(':')

export interface Certificate {
  /** For servers of Node. */
  tls: { pfx: Buffer; passphrase: string; ciphers: string }
  pfxFile: string
  /** The certificate alone, for those who have to trust it. */
  pemFile: string
}

/** A new self-signed certificate for the front of the suite and for the provider, made with the JDK's own tool. */
export function makeCertificate({ directory, javaHome }: { directory: string; javaHome: string }): Certificate {
  const pfxFile = join(directory, 'certificate.p12')
  const pemFile = join(directory, 'certificate.pem')
  rmSync(pfxFile, { force: true })
  const keytool = (...args: string[]): void => {
    execFileSync(
      join(javaHome, 'bin/keytool'),
      [...args, '-alias', 'conformance', '-keystore', pfxFile, '-storetype', 'PKCS12', '-storepass', PASSPHRASE],
      { stdio: 'pipe' }
    )
  }
  keytool(
    '-genkeypair',
    '-keyalg',
    'RSA',
    '-keysize',
    '2048',
    '-validity',
    '7',
    '-dname',
    'CN=localhost',
    '-ext',
    `san=dns:localhost,dns:${PROVIDER_NAME}`,
    '-ext',
    'bc=ca:true'
  )
  keytool('-exportcert', '-rfc', '-file', pemFile)
  return { tls: tlsOf(pfxFile), pfxFile, pemFile }
}

export function tlsOf(pfxFile: string): Certificate['tls'] {
  return { pfx: readFileSync(pfxFile), passphrase: PASSPHRASE, ciphers: CIPHERS }
}
