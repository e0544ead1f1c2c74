/** The reports and the sign-ins that each file of `exports/` leads to. */

export const PASSWORD = 'correct horse \u2713'
export const FIREBASE = {
  signerKey: 'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==',
  saltSeparator: 'Bw=='
}

interface Source {
  export: string
  options?: object
  report: object
  /** Usernames and the passwords that open their accounts. */
  opens: Record<string, string>
  /** Imported usernames without a usable hash, or of disabled users. */
  closed: string[]
  /** The first user and their links. */
  first: object
  links: object[]
}

const USUAL = { unchanged: 0, links: 0, linksLeftOut: {} }
const people = (names: string, password = PASSWORD): Record<string, string> =>
  Object.fromEntries(names.split(' ').map((name) => [name, password]))

export const SOURCES: Record<string, Source> = {
  auth0: {
    export: 'auth0.ndjson',
    report: {
      ...USUAL,
      rows: 21,
      imported: 12,
      skipped: 9,
      hashes: { bcrypt: 7, argon2id: 1 },
      withoutPassword: 4,
      unusableHashes: { 'bcrypt cost above the limit': 1, 'unknown hash format': 1 },
      links: 2,
      linksLeftOut: { windowslive: 1 }
    },
    opens: people(
      'ann@example.com ben@b\u00fccher.example cleo@example.com dora@example.com fred hugo@example.com lou@example.com'
    ),
    closed: ['eve@example.com', 'gina@gmail.com', 'jim@example.com', 'kim@example.com'],
    first: {
      id: 'auth0|5dea9f9c82dd7c0e76e4ec01',
      username: 'ann@example.com',
      email: 'Ann@Example.com',
      emailVerified: true,
      disabled: false,
      createdAt: 1_683_356_889_123,
      name: 'Ann Ives',
      given_name: 'Ann',
      family_name: 'Ives'
    },
    links: [
      { issuer: 'https://accounts.google.com', subject: '108109110', connection: 'google', provisional: 0 },
      { issuer: 'https://github.com/login/oauth', subject: '583231', connection: 'github', provisional: 1 }
    ]
  },
  supabase: {
    export: 'supabase.csv',
    report: {
      ...USUAL,
      rows: 20,
      imported: 13,
      skipped: 7,
      hashes: { bcrypt: 5, argon2id: 1, firebase: 1 },
      withoutPassword: 6,
      unusableHashes: {
        'scrypt parameters above the limit': 2,
        'scrypt parameters below what RFC 7914 allows': 1,
        'bcrypt cost above the limit': 1
      },
      links: 2,
      linksLeftOut: { azure: 1 }
    },
    opens: people('ann@example.com ben@b\u00fccher.example cleo@example.com gina@example.com pia@example.com'),
    closed: ['eve@example.com', 'fred@example.com', 'hugo@example.com', 'ida@example.com', 'jim@example.com'],
    first: {
      id: '7d1b6b5e-0f43-4d1c-8d2a-000000000001',
      username: 'ann@example.com',
      emailVerified: true,
      createdAt: 1_683_356_889_123,
      name: 'Ann "the first", Ives'
    },
    links: [
      { issuer: 'https://accounts.google.com', subject: '108109111', connection: 'google', provisional: 0 },
      { issuer: 'https://appleid.apple.com', subject: '000123.abc', connection: 'apple', provisional: 0 }
    ]
  },
  firebase: {
    export: 'firebase.json',
    options: { password: { firebase: FIREBASE } },
    report: {
      ...USUAL,
      rows: 20,
      imported: 10,
      skipped: 10,
      hashes: { firebase: 3 },
      withoutPassword: 7,
      unusableHashes: {
        'Firebase hash that its exporter could not see': 1,
        'malformed Firebase salt key or tag': 1,
        'malformed Firebase hash': 1
      },
      links: 2,
      linksLeftOut: { microsoft: 1 }
    },
    opens: people('ann@example.com ben@b\u00fccher.example', 'user1password'),
    closed: ['cleo@example.com', 'dora@example.com', 'gina@example.com'],
    first: {
      id: 'uid1',
      email: 'Ann@Example.com',
      emailVerified: true,
      createdAt: 1_683_356_889_123,
      name: 'Ann Ives'
    },
    links: [
      { issuer: 'https://accounts.google.com', subject: '108109112', connection: 'google' },
      { issuer: 'https://www.facebook.com', subject: '10158', connection: 'facebook' }
    ]
  },
  keycloak: {
    export: 'keycloak.json',
    report: {
      ...USUAL,
      rows: 20,
      imported: 13,
      skipped: 7,
      hashes: { argon2id: 1, pbkdf2: 6 },
      withoutPassword: 6,
      unusableHashes: {
        'hash of an algorithm that Keycloak has by a plugin': 1,
        'PBKDF2 iterations above the limit': 1,
        'argon2 parameters above the limit': 1,
        'hash of an old form of Keycloak': 1
      },
      links: 1,
      linksLeftOut: { corporate: 1 }
    },
    opens: people('ann j\u00f6rg cleo dora fred pia'),
    closed: ['eve', 'gina', 'hugo', 'ida', 'jim'],
    first: {
      id: '0a1b2c3d-0000-4000-8000-000000000001',
      username: 'ann',
      email: 'Ann@Example.com',
      emailVerified: true,
      createdAt: 1_683_356_889_123,
      name: 'Ann Ives'
    },
    links: [{ issuer: 'https://accounts.google.com', subject: '108109113', connection: 'google' }]
  },
  django: {
    export: 'django.json',
    report: {
      ...USUAL,
      rows: 20,
      imported: 13,
      skipped: 7,
      hashes: { pbkdf2: 2, argon2id: 1, bcrypt: 3, scrypt: 1 },
      withoutPassword: 6,
      unusableHashes: {
        'unknown hash format': 2,
        'scrypt parameters above the limit': 1,
        'PBKDF2 iterations above the limit': 1
      }
    },
    opens: people('ann j\u00f6rg cleo dora eve fred@example.com'),
    closed: ['gina', 'hugo', 'ida', 'jim', 'kim', 'pia'],
    first: { id: '1', username: 'ann', emailVerified: false, createdAt: 1_683_356_889_123, name: 'Ann Ives' },
    links: []
  },
  wordpress: {
    export: 'wordpress.csv',
    report: {
      ...USUAL,
      rows: 20,
      imported: 13,
      skipped: 7,
      hashes: { phpass: 5, bcrypt: 2 },
      withoutPassword: 6,
      unusableHashes: {
        'unknown hash format': 1,
        'phpass rounds above the limit': 1,
        'bcrypt cost above the limit': 2
      }
    },
    opens: { ...people('ann j\u00f6rg cleo@example.com dora eve lou'), tester: 'test12345' },
    closed: ['gina', 'hugo', 'ida', 'jim', 'pia'],
    first: { id: '1', email: '1@example.com', createdAt: 1_683_356_889_000, name: 'Ann "the first", Ives' },
    links: []
  },
  werkzeug: {
    export: 'werkzeug.csv',
    report: {
      ...USUAL,
      rows: 20,
      imported: 13,
      skipped: 7,
      hashes: { scrypt: 1, pbkdf2: 4, bcrypt: 1 },
      withoutPassword: 7,
      unusableHashes: {
        'unknown hash format': 3,
        'scrypt parameters above the limit': 1,
        'PBKDF2 iterations above the limit': 1,
        'malformed scrypt hash': 1
      }
    },
    opens: people('ann j\u00f6rg cleo@example.com dora mia'),
    closed: ['eve', 'fred', 'gina', 'hugo', 'ida', 'jim', 'lou'],
    first: { id: '1', email: 'Ann@Example.com', emailVerified: true, createdAt: 1_683_356_889_123 },
    links: []
  },
  aspnet: {
    export: 'aspnet.csv',
    report: {
      ...USUAL,
      rows: 20,
      imported: 14,
      skipped: 6,
      hashes: { pbkdf2: 8, bcrypt: 1 },
      withoutPassword: 5,
      unusableHashes: {
        'PBKDF2 iterations above the limit': 1,
        'malformed ASP NET hash': 1,
        'unknown hash format': 1
      }
    },
    opens: { ...people('ann@example.com j\u00f6rg cleo dora fred mia pia'), gina: 'my password' },
    closed: ['eve', 'hugo', 'ida', 'jim'],
    first: { id: 'b7c1f3a0-1111-4222-8333-000000000001', email: 'Ann@Example.com', emailVerified: true },
    links: []
  },
  ndjson: {
    export: 'ndjson.ndjson',
    report: {
      ...USUAL,
      rows: 21,
      imported: 14,
      skipped: 7,
      hashes: { bcrypt: 2, scrypt: 1, argon2id: 1, pbkdf2: 1, firebase: 1, phpass: 1 },
      withoutPassword: 7,
      unusableHashes: {
        'scrypt parameters above the limit': 1,
        'argon2 parameters above the limit': 1,
        'unknown hash format': 3,
        'hash too long': 1
      },
      links: 1
    },
    opens: people('ann j\u00f6rg cleo dora gina rose'),
    closed: ['eve', 'hugo', 'ida', 'jim', 'kim', 'lou', 'quin'],
    first: { id: '1', email: 'Ann@Example.com', createdAt: 1_683_356_889_123, name: 'Ann Ives', plan: { seats: 3 } },
    links: [{ issuer: 'https://sso.acme.com', subject: 'a', connection: 'acme', email: 'ann@acme.com' }]
  }
}
