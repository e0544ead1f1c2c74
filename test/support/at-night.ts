/** The nightly run tries all variants. `npm test` leaves out those that differ in nothing but what is around them. */
export const AT_NIGHT = process.env['TEST_LANGUAGES'] === 'all'
