/**
 * Parses the HTML subset that the pages use: each tag in lower case, each attribute (those of SVG in
 * their own case) quoted or empty, no bare `<` or `&`, each element closed. Throws at other input, so that
 * text that breaks out of its place fails the test.
 */
export interface Element {
  tag: string
  attributes: Record<string, string>
  children: Array<Element | string>
}

const VOID = new Set(['meta', 'link', 'input', 'img', 'source'])
const ENTITIES: Record<string, string> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'" }
const OPEN = /<([a-z][a-z0-9]*)((?: [a-zA-Z-]+(?:="[^"<>]*")?)*)>/y
const CLOSE = /<\/([a-z][a-z0-9]*)>/y
const TEXT = /[^<>]+/y

export function parse(source: string): Element {
  const doctype = '<!doctype html>\n'
  if (!source.startsWith(doctype)) throw new Error('no doctype')
  const root: Element = { tag: '', attributes: {}, children: [] }
  const open = [root]
  let at = doctype.length
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const match = pattern.exec(source)
    if (match !== null) at = pattern.lastIndex
    return match
  }
  while (at < source.length) {
    const parent = open.at(-1)
    if (parent === undefined) throw new Error('closed too often')
    const tag = take(OPEN)
    if (tag !== null) {
      const element: Element = { tag: tag[1] ?? '', attributes: attributesOf(tag[2] ?? ''), children: [] }
      parent.children.push(element)
      if (!VOID.has(element.tag)) open.push(element)
      continue
    }
    const close = take(CLOSE)
    if (close !== null) {
      if (open.pop()?.tag !== close[1]) throw new Error(`</${close[1]}> closes something else`)
      continue
    }
    const text = take(TEXT)
    if (text === null) throw new Error(`not understood: ${source.slice(at, at + 60)}`)
    parent.children.push(decode(text[0]))
  }
  if (open.length !== 1) throw new Error(`<${open.at(-1)?.tag}> is not closed`)
  return root
}

function attributesOf(source: string): Record<string, string> {
  const attributes: Record<string, string> = {}
  for (const [, name = '', value = ''] of source.matchAll(/ ([a-zA-Z-]+)(?:="([^"]*)")?/g)) {
    if (Object.hasOwn(attributes, name)) throw new Error(`${name} twice`)
    attributes[name] = decode(value)
  }
  return attributes
}

function decode(text: string): string {
  return text.replace(/&[^;]{0,8};?/g, (entity) => {
    const character = ENTITIES[entity]
    if (character === undefined) throw new Error(`a bare & in ${text}`)
    return character
  })
}

export function all(root: Element, tag?: string): Element[] {
  return root.children.flatMap((child) =>
    typeof child === 'string' ? [] : [...(tag === undefined || child.tag === tag ? [child] : []), ...all(child, tag)]
  )
}

export function one(root: Element, tag: string): Element {
  const found = all(root, tag)
  if (found.length !== 1 || found[0] === undefined) throw new Error(`${found.length} <${tag}>`)
  return found[0]
}

export function textOf(element: Element): string {
  return element.children.map((child) => (typeof child === 'string' ? child : textOf(child))).join('')
}
