import { testPlanted } from './planted-part.ts'

testPlanted(3)
