import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliDecompressSync } from 'node:zlib'

/**
 * How to start a Chromium: that of Debian if installed, or else the one in the development
 * dependencies.
 */
export interface Chromium {
  executable: string
  /** On top of the environment of the tests. */
  env: Record<string, string>
}

const debian = '/usr/bin/chromium'
const name = '@sparticuz/chromium'

export function findChromium(): Chromium {
  if (existsSync(debian)) return { executable: debian, env: {} }
  const home = join(dirname(fileURLToPath(import.meta.resolve(name))), '..', '..')
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8')) as { version: string }
  return packaged(join(home, 'bin'), join(home, '..', '..', '.cache', `tollgate-chromium-${version}`))
}

/**
 * The program of the package, unpacked to `place`. The package itself would unpack it to a fixed
 * name in /tmp, which any user of the machine could have taken first.
 */
function packaged(archives: string, place: string): Chromium {
  if (!existsSync(place)) unpack(archives, place)
  const executable = join(place, 'chromium')
  const fonts = existsSync('/etc/fonts/fonts.conf') ? {} : { FONTCONFIG_PATH: join(place, 'fonts') }
  const libraries = join(place, 'al2023', 'lib')
  // The libraries of the system come first, because the system updates them. Images without NSS and
  // the like use those of the package.
  const ways = [fonts, { ...fonts, LD_LIBRARY_PATH: [libraries, process.env.LD_LIBRARY_PATH].filter(Boolean).join(':') }]
  let why = ''
  for (const env of ways) {
    const tried = spawnSync(executable, ['--version'], { env: { ...process.env, ...env }, encoding: 'utf8', timeout: 60_000 })
    if (tried.status === 0) return { executable, env }
    why = tried.error?.message ?? tried.stderr
  }
  throw new Error(
    `The browser of the tests does not start here. On Debian, \`apt install chromium\` gives another one. It said: ${why}`,
  )
}

/**
 * Unpacked beside its place and then renamed. If several test processes do so together the first
 * one wins, and none sees half of it.
 */
function unpack(archives: string, place: string): void {
  mkdirSync(dirname(place), { recursive: true })
  const aside = mkdtempSync(`${place}.`)
  try {
    const open = (file: string) => brotliDecompressSync(readFileSync(join(archives, file)))
    writeFileSync(join(aside, 'chromium'), open('chromium.br'), { mode: 0o755 })
    for (const archive of ['al2023', 'fonts']) untar(open(`${archive}.tar.br`), join(aside, archive))
    renameSync(aside, place)
  } catch (error) {
    if (!existsSync(place)) throw error
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}

/** The plain files of a tar archive (POSIX ustar). */
function untar(archive: Buffer, folder: string): void {
  const textAt = (at: number, length: number) => archive.toString('latin1', at, at + length).replace(/\0.*$/s, '')
  for (let at = 0; at + 512 <= archive.length && archive[at] !== 0;) {
    const size = Number.parseInt(textAt(at + 124, 12), 8)
    const type = textAt(at + 156, 1)
    const file = join(folder, textAt(at, 100))
    if ((type === '0' || type === '') && file.startsWith(`${folder}/`)) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, archive.subarray(at + 512, at + 512 + size), { mode: 0o755 })
    }
    at += 512 + Math.ceil(size / 512) * 512
  }
}
