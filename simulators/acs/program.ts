import { runProgram } from '../run.ts'
import { acs } from './simulator.ts'

await runProgram(acs)
