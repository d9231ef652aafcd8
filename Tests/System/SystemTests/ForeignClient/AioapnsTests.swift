// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// aioapns, with token authentication.
@Suite(.serialized) struct AioapnsTests {
  private func push(
    _ pushes: [JSONValue], to simulator: RunningSimulator, keys: GeneratedKeys? = nil,
    in folder: TemporaryFolder
  ) throws -> [JSONValue] {
    let file = folder.file("pushes")
    try File.write(file, Array(pushes.map { $0.text + [10] }.joined()))
    let result = try PythonScript.run(
      "push_with_aioapns.py",
      [
        "--port", "\(simulator.port)", "--roots", simulator.keys.roots,
        "--key", (keys ?? simulator.keys).signingKey, "--key-id", GeneratedKeys.key,
        "--team-id", GeneratedKeys.team, "--topic", RunningSimulator.app, "--pushes", file,
      ], in: folder)
    #expect(result.status == 0, "it printed: \(result.output.suffix(2_000))")
    #expect(result.objects.count == pushes.count)
    return result.objects
  }

  @Test func `healthy tokens get 200, an unregistered one 410 with its time, a bad one 400`() throws
  {
    let folder = TemporaryFolder()
    // The library forgets requests that the gateway refuses, as it does with what crosses a lowered limit.
    let simulator = try RunningSimulator(
      in: folder, ["--throttle", "off"], tokens: DeviceTokens.declared)
    defer { simulator.stop() }
    let id = "0a1b2c3d-0000-4000-8000-00000000beef"
    var pushes = (0..<300).map { ["token": .string(DeviceTokens.numbered($0))] as JSONValue }
    pushes[7] = [
      "token": .string(DeviceTokens.numbered(7)), "id": .string(id), "collapse_id": "scores",
      "priority": 5, "time_to_live": 60,
    ]
    pushes.append(["token": .string(DeviceTokens.unregistered)])
    pushes.append(["token": .string(DeviceTokens.bad)])
    let answers = try push(pushes, to: simulator, in: folder)

    #expect(answers.prefix(300).allSatisfy { $0["status"]?.int == 200 })
    #expect(answers.count > 7 && answers[7]["id"]?.string == id)
    let gone = answers.first { $0["token"]?.string == DeviceTokens.unregistered }
    #expect(gone?["status"]?.int == 410)
    #expect(gone?["reason"]?.string == "Unregistered")
    #expect(gone?["timestamp"]?.int == DeviceTokens.unregisteredSince)
    let bad = answers.first { $0["token"]?.string == DeviceTokens.bad }
    #expect(bad?["status"]?.int == 400)
    #expect(bad?["reason"]?.string == "BadDeviceToken")
    #expect(bad?["timestamp"]?.isNull == true)

    let received = try simulator.requests()
    #expect(received.count == 302)
    #expect(received.contains { $0["apns_id"]?.string == id && $0["status"]?.int == 200 })
  }

  @Test func `with a declared registry, a token that was not declared is a bad one`() throws {
    let folder = TemporaryFolder()
    let known = DeviceTokens.numbered(1)
    let simulator = try RunningSimulator(
      in: folder, ["--registry", "declared"], tokens: [["token": .string(known)]])
    defer { simulator.stop() }
    let answers = try push(
      [["token": .string(known)], ["token": .string(DeviceTokens.numbered(2))]], to: simulator,
      in: folder)
    #expect(answers.map { $0["status"]?.int } == [200, 400])
    #expect(answers.last?["reason"]?.string == "BadDeviceToken")
  }

  @Test func `a token that another key signed gets 403 InvalidProviderToken`() throws {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder)
    defer { simulator.stop() }
    let answers = try push(
      [["token": .string(DeviceTokens.numbered(1))]], to: simulator,
      keys: GeneratedKeys(in: folder, "strange-keys"), in: folder)
    #expect(answers.first?["status"]?.int == 403)
    #expect(answers.first?["reason"]?.string == "InvalidProviderToken")
  }
}
