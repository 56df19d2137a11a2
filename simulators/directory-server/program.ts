import { runProgram } from '../run.ts'
import { directoryServer } from './simulator.ts'

await runProgram(directoryServer)
