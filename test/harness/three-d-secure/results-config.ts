import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { World } from '../world/world.ts'

/**
 * Writes a THREE_DS_CONFIG that makes a process a 3DS Server of the simulated directory server,
 * with its results at this port. Returns the path of the file, and of the certificate of results.
 */
export function writeResultsConfig(world: World, port: number): { file: string; certificate: string } {
  const pem = (name: string) => join(world.directory, 'certificates', name)
  const own = { certificate: pem('gateway.pem'), key: pem('gateway.key') }
  const certificate = pem('gateway-results.pem')
  // oxfmt-ignore
  const results = {
    host: '127.0.0.1', port, url: 'https://results.example/3ds/results',
    certificate, key: pem('gateway-results.key'), directory_server_authority: pem('ds-ca.pem'),
  }
  const areqs = { areq_url: 'https://ds.example/areq', authority: pem('ds-ca.pem'), ...own }
  const servers = [{ name: 'simulated', common_name: 'directory-server', ...areqs }]
  const file = join(world.directory, `results-at-${port}.json`)
  writeFileSync(file, JSON.stringify({ server_ref_number: 'SIM_TEST', results, directory_servers: servers }))
  return { file, certificate }
}
