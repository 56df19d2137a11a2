import { runProgram } from '../run.ts'
import { acquirer } from './simulator.ts'

await runProgram(acquirer)
