import {
  chownSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import type { Command } from 'commander'
import { secret } from '../../base/secret.ts'
import { parsed } from '../../entity/kinds.ts'
import { databaseUsers } from '../../settings/database.ts'
import { isDatabaseUrl } from '../../storage/database-line.ts'
import { scramVerifier } from '../../storage/logins.ts'
import { Failure } from '../failure.ts'
import { reads } from '../rows.ts'
import type { Terminal } from '../terminal.ts'
import { packageVersion } from '../version.ts'

/** The user of the image, where root writes the files: containers should not run as root. */
const imageUser = 65_532
const usualDatabase = 'postgres://localhost:5432/tollgate'

const aDatabase = parsed('url', `a URL without user and password, such as ${usualDatabase}`, (text) => {
  const url = isDatabaseUrl(text) ? new URL(text) : undefined
  return url && url.hostname && !url.username && !url.password && /^\/[a-z_][a-z0-9_]*$/.test(url.pathname) ? url : undefined
})

export function addInitCommand(program: Command, terminal: Terminal): void {
  program
    .command('init')
    .description('writes a directory with settings and new secrets, to run the gateway for real')
    .argument('[directory]', 'a new or an empty directory', 'tollgate')
    .option('--database-url <url>', `where PostgreSQL is (${usualDatabase})`, reads(aDatabase))
    .option('--compose', 'writes compose.yaml for containers, with its own PostgreSQL')
    .addHelpText(
      'after',
      `
It writes tollgate.env, and secrets/ with files of mode 600: the key-encryption key, and a password for each user of
the database. It connects to nothing, and prints the next commands.

Examples
  npx tollgate init
  npx tollgate init /etc/tollgate --database-url 'postgres://db.example/tollgate?sslmode=verify-full&sslrootcert=/etc/ssl/db.pem'
  npx tollgate init --compose`,
    )
    .action((directory: string, { databaseUrl, compose = false }: { databaseUrl?: URL; compose?: boolean }) =>
      init(terminal, resolve(directory), databaseUrl ?? new URL(usualDatabase), compose),
    )
}

/** All of it or nothing: it is written beside the directory, and then takes its place. */
function init({ random, print }: Terminal, directory: string, url: URL, compose: boolean): void {
  const there = statSync(directory, { throwIfNoEntry: false })
  if (there && !(there.isDirectory() && readdirSync(directory).length === 0))
    throw new Failure(`${directory} already exists, and is not an empty directory. Nothing was changed.`)
  const fresh = `${directory}.${random.bytes(6).toString('hex')}.new`
  const write = (name: string, text: string) => writeFileSync(join(fresh, name), text, { mode: 0o600 })
  try {
    mkdirSync(join(fresh, 'secrets'), { recursive: true, mode: 0o700 })
    const { owner, serve, operator } = databaseUsers
    const passwords = [owner, serve, operator].map((user) => [user, random.bytes(24).toString('base64url')] as const)
    for (const [name, text] of [['key', random.bytes(32).toString('base64')], ...passwords]) write(`secrets/${name}`, `${text}\n`)
    const inDirectory = (name: string) => quoted(join(directory, name))
    const filled = filledBy({
      ...ownerOf(compose && join(fresh, 'secrets')),
      VERSION: packageVersion(),
      VERIFIER: scramVerifier(secret(passwords[0]![1]), random),
      DATABASE: url.pathname.slice(1),
      DATABASE_URL: quoted(url.href),
      SECRETS: inDirectory('secrets'),
      KEY: inDirectory('secrets/key'),
      SQL: inDirectory('database.sql'),
      ENV: inDirectory('tollgate.env'),
      DIRECTORY: directory,
      HOST: url.hostname,
      PORT: url.port || '5432',
    })
    write('tollgate.env', filled(compose ? 'containers.env' : 'tollgate.env'))
    if (!compose) write('database.sql', filled('database.sql'))
    else {
      write('.env', filled('compose.env'))
      for (const name of ['compose.yaml', 'Caddyfile']) cpSync(deployed(name), join(fresh, name))
    }
    if (there) rmdirSync(directory)
    renameSync(fresh, directory)
    print(`${directory} has the settings (tollgate.env) and the secrets. Keep a copy of secrets/key apart from the database.`)
    print(filled(compose ? 'containers.txt' : 'machine.txt').trimEnd())
  } finally {
    rmSync(fresh, { recursive: true, force: true })
  }
}

const deployed = (name: string): URL => new URL(`../../../../deploy/${name}`, import.meta.url)

const filledBy = (values: Readonly<Record<string, string>>) => (name: string) =>
  readFileSync(deployed(`init/${name}`), 'utf8').replaceAll(/\{([A-Z_]+)\}/g, (_, key: string) => values[key]!)

/** For shells, systemd and compose. */
const quoted = (value: string): string => (/^[\w@%+=:,./?-]*$/.test(value) ? value : `'${value.replaceAll("'", "'\\''")}'`)

/** The containers run as whoever owns the secrets: a file of mode 600 is mounted with its owner. */
function ownerOf(secrets: string | false): { UID: string; GID: string } {
  const [uid, gid] = [process.getuid?.() || imageUser, process.getgid?.() || imageUser]
  const isRoot = process.getuid?.() === 0
  if (secrets && isRoot) for (const name of readdirSync(secrets)) chownSync(join(secrets, name), uid, gid)
  return { UID: String(uid), GID: String(gid) }
}
