/**
 * The provider that bench/connections/run.ts signs in with, in a process of its own, so that what it costs is not
 * counted.
 */
import { openidServer } from '../../test/support/upstream/openid-server.ts'

const server = await openidServer()
process.send?.(server.issuer)
process.on('disconnect', () => {
  process.exit(0)
})
