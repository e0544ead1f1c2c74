/** Runs in a worker thread of `phpassKey`, which starts this file by its name. Nothing imports it. */
import { answerCalls } from '../threads/hashing-threads.ts'
import { phpassRounds } from './phpass.ts'

answerCalls(phpassRounds)
