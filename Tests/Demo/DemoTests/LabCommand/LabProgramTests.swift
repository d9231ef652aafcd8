// SPDX-License-Identifier: Apache-2.0
import OperatorCommand
import ServiceKit
import Testing

@testable import LabCommand

@Suite struct LabProgramTests {
  @Test func `martlet hands over exactly the commands that martlet-lab has`() {
    let commands = LabCommand.commands
    #expect(commands.map { $0.name } == LabProgram.allCases.map(\.rawValue))
    #expect(commands.map { $0.summary } == LabProgram.allCases.map(\.summary))
    let own = MartletCommand.commands.map { $0.name }
    #expect(own.allSatisfy { LabProgram(rawValue: $0) == nil })
  }

  @Test func `the help of martlet has each command once, on a line of 80 characters`() {
    let listed = MartletCommand.overview.groups.flatMap(\.commands)
    let all = MartletCommand.commands.map { $0.name } + LabProgram.allCases.map(\.rawValue)
    #expect(listed.map(\.name).sorted() == all.sorted())
    let longest = listed.map(\.name.count).max() ?? 0
    for (name, line) in listed { #expect(longest + 4 + line.count <= 80, "\(name)") }
  }

  @Test func `an argument list belongs to martlet-lab by its command's words`() {
    let sibling = LabProgram.sibling
    #expect(sibling.hasCommand(["up", "--help"]))
    #expect(sibling.hasCommand(["keys", "generate", "folder"]))
    #expect(!sibling.hasCommand(["keys"]))
    #expect(!sibling.hasCommand(["upgrade"]))
    #expect(!sibling.hasCommand([]))
  }
}
