import type { FastifyBaseLogger } from 'fastify'
import type { Message } from 'fastify-authority'

/**
 * `sendMessage` of a demo: the message, with its link and token, goes to the log. Do NOT do this in production: whoever reads
 * the log could set everybody's password. Hand the message to your mail service there.
 */
export function logMessages (log: () => FastifyBaseLogger): (message: Message) => void {
  return (message) => {
    const { kind, user } = message
    const carried = { ...'url' in message ? { link: message.url } : {}, ...'token' in message ? { token: message.token } : {} }
    log().info({ message: { kind, to: user.email ?? user.username, ...carried } }, 'DEMO: a message is logged, with its token, in place of being sent')
  }
}
