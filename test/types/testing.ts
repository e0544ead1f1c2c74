/** The imports of a host's tests. Compiled against the built package. */
import * as testing from 'fastify-authority/testing'

// @ts-expect-error -- the entry point of tests holds no plugin
export const plugin = testing.authPlugin
