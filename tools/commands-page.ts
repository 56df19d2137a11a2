/** The commands of an operator as a document. */
import { jsonName } from '../src/entity/json.ts'
import { withCommands } from '../src/entity/show.ts'
import type { AnyAction, Inputs } from '../src/operator/action.ts'
import { permissions, roleMay, roles, type Permission } from '../src/operator/permissions.ts'
import { actionsOf, subjects } from '../src/operator/subjects.ts'
import { inLines } from '../src/reference/markdown.ts'
import { serveVariables } from '../src/settings/serve.ts'
import { variablesTable } from '../src/settings/variables.ts'
import { awayText, meansText, optionText, placeText } from '../src/cli/rows.ts'

type Words = readonly [words: string, action: AnyAction]

export async function commandsReference(): Promise<string> {
  const parts: string[] = []
  for (const [name, { does }] of Object.entries(subjects)) {
    const actions = await actionsOf(name)
    parts.push(`## ${name}\n\n${inLines(sentence(does))}`, ...actions.map((one) => actionText(one, actions)))
  }
  return `# Commands

The commands for operators: with them you set up merchants, endpoints and gates, look at payments
and change them, and care for the installation. Put \`npx tollgate\` in front of each; \`--json\`
prints JSON for programs. The exit code is 0 if the command succeeded, 1 if it failed, and 2 on
wrong usage. For the installation that the commands work on, and the database user that they need,
see [install.md](../install.md#the-commands).

Each command needs a permission. A role has these:

${permissionsTable()}

${parts.join('\n\n')}

## Environment of serve

${variablesTable(serveVariables)}
`
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

function actionText([words, action]: Words, all: readonly Words[]): string {
  const takes = Object.entries(action.takes)
  const places = takes.filter(([, { argument }]) => argument).map(([name, input]) => placeText(name, input))
  // The settings of an entity stand with the first action that takes them.
  const [first = words] = all.find(([, one]) => Object.values(one.takes).some(({ change }) => change)) ?? []
  const shown = takes.filter(([, { change }]) => !change || first === words)
  const head = `\`${[words, ...places].join(' ')}\` · ${sentence(action.does)} Needs \`${action.needs}\``
  return [
    `### ${words}`,
    inLines(`${head}${action.here ? ', on this machine' : ''}.`),
    ...(shown.length > 0 ? [`| | Meaning |\n|---|---|\n${shown.map(inputRow).join('\n')}`] : []),
    ...(shown.length < takes.length ? [`Also takes the settings of [${first}](#${first.replaceAll(' ', '-')}).`] : []),
    ...(action.more === undefined ? [] : [`\`\`\`text\n${withCommands(action.more.replace(/^\n+|\s+$/g, ''))}\n\`\`\``]),
    `\`\`\`\n${action.examples.map((one) => `npx tollgate ${one}`).join('\n')}\n\`\`\``,
  ].join('\n\n')
}

function inputRow([name, input]: [string, Inputs[string]]): string {
  const away = awayText(name, input)
  const options = [optionText(name, input), ...(away === undefined ? [] : [away])]
  const called = input.argument ? [jsonName(name)] : options
  return `| ${called.map((one) => `\`${one}\``).join(', ')} | ${meansText(input)} |`.replaceAll('on|off', 'on\\|off')
}

const permissionsTable = (): string =>
  [
    `| Permission | May | ${roles.join(' | ')} |`,
    `|---|---|${roles.map(() => '---|').join('')}`,
    ...(Object.entries(permissions) as [Permission, { means: string }][]).map(
      ([one, { means }]) => `| \`${one}\` | ${means} | ${roles.map((role) => (roleMay(role, one) ? 'yes' : '')).join(' | ')} |`,
    ),
  ].join('\n')
