/**
 * Does the store keep what the plugin relies on? With node:test here; any runner that takes `(name, run)` will do.
 *
 *   node --test dist/examples/own-user-store/contract.js
 */
import { test } from 'node:test'
import { runContract, userStoreContract } from 'fastify-authority/testing'
import { peopleStore } from './people.ts'

runContract(userStoreContract(async () => ({ store: peopleStore([]) })), test)
