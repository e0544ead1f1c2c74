import { hash } from 'node:crypto'

/** A call as a message to a worker thread. */
export interface PhpassCall {
  state: Uint8Array
  password: Uint8Array
  rounds: number
}

/** Repeats MD5 over the former digest and the password. It blocks: 8,192 rounds take about 30 ms. */
export function phpassRounds({ state, password, rounds }: PhpassCall): Uint8Array {
  const text = Buffer.concat([state, password])
  for (let round = 0; round < rounds; round++) hash('md5', text, 'buffer').copy(text)
  return new Uint8Array(text.subarray(0, state.length))
}
