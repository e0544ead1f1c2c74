/** Runs in a worker thread of `phpassKey`. Nothing imports it. */
import { answerCalls } from '../threads/hashing-threads.ts'
import { phpassRounds } from './phpass.ts'

answerCalls(phpassRounds)
