/** The nightly run tests all variants. `npm test` leaves out variants that differ only in their surroundings. */
export const AT_NIGHT = process.env['TEST_LANGUAGES'] === 'all'
