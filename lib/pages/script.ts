/**
 * The pages' one script, as it is served. Nothing depends on it: it adds the button that shows a password, sends the `form_post` answer
 * on without a click, and holds the button back that allows a client something until a person can have seen it.
 */
export const PAGE_SCRIPT = `'use strict'
for (const input of document.querySelectorAll('input[data-reveal]')) {
  const button = document.createElement('button')
  const show = (shown) => {
    input.type = shown ? 'text' : 'password'
    button.setAttribute('aria-pressed', String(shown))
  }
  button.type = 'button'
  button.className = 'reveal'
  button.title = input.dataset.reveal
  button.setAttribute('aria-label', input.dataset.reveal)
  button.setAttribute('aria-controls', input.id)
  button.addEventListener('click', () => { show(input.type === 'password') })
  // Browsers keep what was typed into a field of type text, for their suggestions.
  input.form.addEventListener('submit', () => { show(false) })
  show(false)
  input.after(button)
}
const deliberate = document.querySelector('[data-deliberate]')
if (deliberate) {
  let timer
  // Another window can have a person double-click, turn this one to its page with the first click and be gone for the second.
  const hold = () => {
    const hadFocus = document.activeElement === deliberate
    deliberate.disabled = true
    clearTimeout(timer)
    timer = setTimeout(() => {
      deliberate.disabled = false
      if (hadFocus) deliberate.focus()
    }, 500)
  }
  addEventListener('focus', hold)
  addEventListener('pageshow', hold)
  document.addEventListener('visibilitychange', hold)
  hold()
}
const answer = document.querySelector('[data-submit] form')
if (answer) {
  // The answer holds a code that works once.
  answer.querySelector('button').disabled = true
  // A parameter could be called submit.
  HTMLFormElement.prototype.submit.call(answer)
}
`
