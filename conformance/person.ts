/** The person who signs in at the provider, with every claim that OpenID Connect names. */
export const USERNAME = 'ann@example.com'
export const PASSWORD = 'seven green boats at dawn'

export const CLAIMS = {
  name: 'Ann Example',
  given_name: 'Ann',
  family_name: 'Example',
  middle_name: 'B.',
  nickname: 'Annie',
  // Without it, a client that may not know the e-mail address gets none, for the username is that address.
  preferred_username: 'ann',
  profile: 'https://ann.example/',
  picture: 'https://ann.example/me.jpg',
  website: 'https://ann.example/blog',
  gender: 'female',
  birthdate: '1987-10-16',
  zoneinfo: 'Europe/Berlin',
  locale: 'de-DE',
  updated_at: new Date('2025-12-31T12:00:00Z'),
  emailVerified: true,
  phone_number: '+49 30 901820',
  phone_number_verified: false,
  address: {
    formatted: 'Unter den Linden 1\n10117 Berlin',
    street_address: 'Unter den Linden 1',
    locality: 'Berlin',
    postal_code: '10117',
    country: 'DE'
  }
}
