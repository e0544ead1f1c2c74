/**
 * The reference of the browser client, made from its source: what is exported, with types, and with the comments as
 * meanings. A member without a comment stops it.
 */
import ts from 'typescript-tap'

/**
 * The errors of a function that its own comment does not describe. `retryable` as the code has it; `sometimes` if the
 * answer decides.
 */
export const CLIENT_ERRORS: Readonly<Record<string, { retryable: 'yes' | 'no' | 'sometimes'; meaning: string }>> = {
  missing_transaction: {
    retryable: 'no',
    meaning: 'The address has no answer to a sign-in. Show the page as for anybody.'
  },
  state_mismatch: {
    retryable: 'no',
    meaning:
      'The answer belongs to no sign-in of this browser: it was begun in another one or more ' +
      'than a day ago, it has been answered, or the address was forged. Begin a new sign-in.'
  },
  issuer_mismatch: {
    retryable: 'no',
    meaning:
      "The answer (`iss`), or the metadata at `domain`, is another provider's. The description " +
      'has the issuer that came, and for metadata the expected one.'
  },
  invalid_token: {
    retryable: 'no',
    meaning: 'The ID token is not for this sign-in, or none; the description names the claim.'
  },
  invalid_options: {
    retryable: 'no',
    meaning:
      'Thrown by `createAuthClient`: `clientId` or `domain` is missing. From `client/dev` also an unknown ' +
      'option, or `cookie` mode at another origin.'
  },
  insecure_context: {
    retryable: 'no',
    meaning: 'The page is neither https nor on localhost, so that the browser has no cryptography.'
  },
  login_required: {
    retryable: 'no',
    meaning:
      'Nobody is signed in, or no longer; or a sign-out came between a sign-in and its answer. ' +
      'From `loginSilently`: the provider would show a page, or gets no cookie in a frame. From ' +
      '`fetchWithStepUp`: another person has signed in.'
  },
  missing_refresh_token: {
    retryable: 'no',
    meaning: 'The access token has run out, and the provider gave nothing to refresh it with.'
  },
  timeout: {
    retryable: 'yes',
    meaning:
      'There was no answer in time: 10 seconds for a request, 15 for a method, `timeoutMs` for ' +
      '`loginWithPopup` and `loginSilently`.'
  },
  request_error: {
    retryable: 'sometimes',
    meaning:
      'The network failed, or what answered was not the provider: `retryable`. Or it was an ' +
      'error status without a code of its own: `retryable` from 429 on.'
  },
  popup_blocked: {
    retryable: 'no',
    meaning: 'The browser opened no window: `loginWithPopup` was not called in a click, or popups are forbidden.'
  },
  popup_closed: { retryable: 'no', meaning: 'The person closed the window.' },
  token_not_bound: {
    retryable: 'no',
    meaning: 'From `client/dpop`: the answer has a Bearer token, because the provider has no DPoP. It is dropped.'
  }
}

/** The entries of the package, and the file that each is. */
export const CLIENT_ENTRIES: Readonly<Record<string, string>> = {
  'fastify-authority/client': 'index',
  'fastify-authority/client/popup': 'popup',
  'fastify-authority/client/dev': 'dev',
  'fastify-authority/client/dpop': 'dpop',
  'fastify-authority/client/silent': 'silent',
  'fastify-authority/client/step-up': 'step-up',
  'fastify-authority/client/react': 'react',
  'fastify-authority/client/vue': 'vue',
  'fastify-authority/client/svelte': 'svelte'
}

type Declared =
  | ts.FunctionDeclaration
  | ts.InterfaceDeclaration
  | ts.ClassDeclaration
  | ts.TypeAliasDeclaration
  | ts.VariableDeclaration

/** `files`: text by name without `.ts`. */
export function clientApi(files: Readonly<Record<string, string>>): {
  exportsOf(file: string): string[]
  find(name: string, file?: string): Declared[]
  thrown(): string[]
} {
  const sources = Object.entries(files).map(([name, text]) =>
    ts.createSourceFile(`${name}.ts`, text, ts.ScriptTarget.Latest, true)
  )
  const declarations = (source: ts.SourceFile): Declared[] =>
    source.statements.flatMap((node): Declared[] => {
      if (
        !ts.canHaveModifiers(node) ||
        ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) !== true
      )
        return []
      if (ts.isVariableStatement(node)) return [...node.declarationList.declarations]
      return ts.isFunctionDeclaration(node) ||
        ts.isInterfaceDeclaration(node) ||
        ts.isClassDeclaration(node) ||
        ts.isTypeAliasDeclaration(node)
        ? [node]
        : []
    })
  const sourceOf = (file: string): ts.SourceFile => {
    const source = sources.find(({ fileName }) => fileName === `${file}.ts`)
    if (source === undefined) throw new Error(`no lib/client/${file}.ts`)
    return source
  }
  return {
    exportsOf(file) {
      const namesIn = (source: ts.SourceFile): string[] => declarations(source).map(({ name }) => name?.getText() ?? '')
      const again = sourceOf(file).statements.flatMap((node) => {
        if (!ts.isExportDeclaration(node)) return []
        if (node.exportClause === undefined)
          return namesIn(sourceOf(/^'\.\/(.*)\.ts'$/.exec(node.moduleSpecifier?.getText() ?? '')?.[1] ?? ''))
        return ts.isNamedExports(node.exportClause) ? node.exportClause.elements.map(({ name }) => name.text) : []
      })
      return [...new Set([...namesIn(sourceOf(file)), ...again])]
    },
    find: (name, file) =>
      (file === undefined ? sources : [sourceOf(file)])
        .flatMap(declarations)
        .filter((node) => node.name?.getText() === name),
    /** Every code that the client's own code makes an error of. */
    thrown() {
      const codes = new Set<string>()
      const visit = (node: ts.Node): void => {
        if (ts.isNewExpression(node) && node.expression.getText() === 'AuthClientError')
          literals(node.arguments?.[0], codes)
        ts.forEachChild(node, visit)
      }
      sources.forEach(visit)
      return [...codes].sort()
    }
  }
}

/** The texts that an expression may be, without those that it only looks at. */
function literals(node: ts.Node | undefined, into: Set<string>): void {
  if (node === undefined) return
  if (ts.isStringLiteral(node)) into.add(node.text)
  else if (ts.isConditionalExpression(node))
    [node.whenTrue, node.whenFalse].forEach((branch) => {
      literals(branch, into)
    })
  else if (ts.isBinaryExpression(node)) literals(node.right, into)
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim()

/** A type that stands on several lines, as it would be on one. */
const typeOnOneLine = (text: string): string =>
  oneLine(text.replace(/(?<=[\w>)\]}'])\n\s*(?=[\w['])/g, '; '))
    .replace(/(?<=[(<]) | (?=[)>](?!=))/g, '')
    .replace(/ \| undefined$/, '')

/** The comment above a declaration: its text, then what it throws and where that is written down. */
function meaning(node: ts.Node): string {
  const owner = ts.isVariableDeclaration(node) ? node.parent.parent : node
  const doc = ts.getJSDocCommentsAndTags(owner).filter(ts.isJSDoc).at(-1)
  const tags = (doc?.tags ?? []).map((tag) => {
    const text = oneLine(
      tag
        .getText()
        .replace(/^@\w+/, '')
        .replaceAll(/\n\s*\*/g, ' ')
    )
    return tag.tagName.text === 'throws'
      ? `Rejects with ${text.replace(/^AuthClientError/, '`AuthClientError`:')}.`
      : `See ${text}.`
  })
  return [oneLine(ts.getTextOfJSDocComment(doc?.comment) ?? ''), ...tags].filter((text) => text !== '').join(' ')
}

/** `| name | type | meaning |` of each member. A member without a comment stops it, unless its name says it all. */
function members(node: ts.InterfaceDeclaration | ts.ClassDeclaration, documented = true): string[] {
  const rows = [...node.members].flatMap((member): string[][] => {
    if (ts.isConstructorDeclaration(member)) return []
    const name = ts.isIndexSignatureDeclaration(member)
      ? `[${member.parameters[0]?.name.getText() ?? ''}]`
      : (member.name?.getText() ?? '')
    const optional = 'questionToken' in member && member.questionToken !== undefined ? '?' : ''
    const type = ts.isMethodSignature(member)
      ? `(${member.parameters.map((parameter) => parameter.getText()).join(', ')}) => ` +
        (member.type?.getText() ?? 'void')
      : ((member as ts.PropertySignature).type?.getText() ?? '')
    const what = meaning(member)
    if (documented && what === '') throw new Error(`lib/client: ${node.name?.text ?? ''}.${name} has no comment`)
    return [[`\`${name}${optional}\``, `\`${typeOnOneLine(type)}\``, what]]
  })
  return rows.map((cells) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
}

const table = (head: string[], rows: string[]): string =>
  [`| ${head.join(' | ')} |`, `| ${head.map(() => '---').join(' | ')} |`, ...rows].join('\n')

/** A function as it is called: without its body. */
function signature(node: ts.FunctionDeclaration): string {
  const end = node.body?.getStart() ?? node.end
  return node
    .getSourceFile()
    .text.slice(node.getStart(), end)
    .trim()
    .replace(/^export (async )?/, '')
}

export function clientPage(files: Readonly<Record<string, string>>): string[] {
  const api = clientApi(files)
  const said = new Set<string>()
  /** Whatever it is, under a heading of its own. */
  const section = (name: string, file?: string): string[] => {
    if (said.has(`${file ?? ''} ${name}`)) return []
    said.add(`${file ?? ''} ${name}`)
    const nodes = api.find(name, file)
    const [first] = nodes
    if (first === undefined) throw new Error(`lib/client exports no ${name}`)
    const what = nodes.map(meaning).filter((text) => text !== '')
    if (what.length === 0 && !ts.isInterfaceDeclaration(first)) throw new Error(`lib/client: ${name} has no comment`)
    if (ts.isFunctionDeclaration(first)) {
      const declared = nodes.filter(ts.isFunctionDeclaration)
      const callable = declared.length === 1 ? declared : declared.filter(({ body }) => body === undefined)
      return [
        `### \`${name}\``,
        ...what,
        callable.map((node) => ['```typescript', signature(node), '```'].join('\n')).join('\n\n')
      ]
    }
    const isCallable = ts.isInterfaceDeclaration(first) && first.members.every(ts.isCallSignatureDeclaration)
    if ((ts.isInterfaceDeclaration(first) && !isCallable) || ts.isClassDeclaration(first)) {
      const documented = name !== 'UserProfile'
      const base = first.heritageClauses?.flatMap(({ types }) => types.map((type) => type.getText())).join(', ')
      return [
        `### \`${name}\``,
        ...what,
        ...(base === undefined ? [] : [`Extends \`${base}\`.`]),
        table(['name', 'type', 'meaning'], members(first, documented))
      ]
    }
    return [
      `### \`${name}\``,
      ...what,
      ...(ts.isTypeAliasDeclaration(first) || isCallable
        ? [['```typescript', first.getText().replace(/^export /, ''), '```'].join('\n')]
        : [])
    ]
  }
  const entry = (specifier: string): string[] => {
    const file = CLIENT_ENTRIES[specifier] ?? ''
    return [
      `## \`${specifier}\``,
      ...api.exportsOf(file).flatMap((name) => section(name, api.find(name, file).length > 0 ? file : undefined))
    ]
  }
  const [main = '', ...others] = Object.keys(CLIENT_ENTRIES)
  return [
    'The whole public interface of the browser client: `fastify-authority/client` and the ' +
      'entries next to it. The package `fastify-authority-client` has the same files: read ' +
      '`fastify-authority-client` for `fastify-authority/client`. What it promises, and how it ' +
      'is used, is in [the browser client](../guides/browser-client.md); whole apps are in the ' +
      'guides for [React](../guides/react.md), [Vue](../guides/vue.md), ' +
      '[Svelte](../guides/svelte.md) and [a plain page](../guides/plain-page.md).',
    table(
      ['entry', 'exports'],
      Object.entries(CLIENT_ENTRIES).map(
        ([specifier, file]) =>
          `| \`${specifier}\` | ${api
            .exportsOf(file)
            .map((name) => `\`${name}\``)
            .join(', ')} |`
      )
    ),
    ...entry(main),
    '## Errors',
    'Every rejection is an `AuthClientError`. Act on `error`: one of these, or what the server ' +
      'said, such as `access_denied`. What the server said is `retryable` where its status was ' +
      '429 or above. `cause`, as of every `Error`, is what lies below.',
    table(
      ['`error`', '`retryable`', 'what happened, and what to do'],
      Object.entries(CLIENT_ERRORS).map(
        ([code, { retryable, meaning }]) => `| \`${code}\` | ${retryable} | ${meaning} |`
      )
    ),
    ...others.flatMap(entry)
  ]
}
