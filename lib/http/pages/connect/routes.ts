import type { FastifyInstance } from 'fastify'
import type { PageDeps } from '../deps.ts'
import { connectCallback } from './callback.ts'
import { connectConfirm } from './confirm.ts'
import { connectLink } from './link.ts'
import { connectStart } from './start.ts'

/** The ways through other providers, where there are connections. */
export function connectRoutes(child: FastifyInstance, deps: PageDeps): void {
  const { connect } = deps
  if (connect === null) return
  for (const routes of [connectStart, connectCallback, connectConfirm, connectLink]) routes(child, { ...deps, connect })
}
