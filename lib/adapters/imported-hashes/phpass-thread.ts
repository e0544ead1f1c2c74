/** Runs in a worker thread of `phpassKey`. Nothing imports it. */
import { answerCalls } from '../threads/answer-calls.ts'
import { phpassRounds } from './phpass-rounds.ts'

answerCalls(phpassRounds)
