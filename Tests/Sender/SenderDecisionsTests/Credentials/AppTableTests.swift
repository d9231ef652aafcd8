// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// The table that finds an app's credential for each push.
@Suite struct AppTableTests {
  private func hash(_ app: String) -> UInt64 { AppHash.of(app.utf8.span) }

  @Test func `an app has a number in each environment, and others have none`() {
    var table = AppTable()
    let row = table.claim("com.example.a", by: 3)
    table.choose(row, .production, 3)
    #expect(table.find(hash("com.example.a"), .production) == 3)
    #expect(table.find(hash("com.example.a"), .sandbox) == -1)
    #expect(table.find(hash("com.example.b"), .production) == -1)
    table.insert("com.example.a", .production, 4)
    table.insert("com.example.a", .sandbox, 4)
    #expect(table.find(hash("com.example.a"), .production) == 3, "it had one")
    #expect(table.find(hash("com.example.a"), .sandbox) == 4)
  }

  @Test func `claimants are kept until they disclaim`() {
    var table = AppTable()
    let row = table.claim("a", by: 1)
    #expect(table.claim("a", by: 2) == row)
    #expect(table.claim("a", by: 2) == row)
    #expect(table.rows[row].claimants == [1, 2])
    #expect(table.disclaim("a", by: 1) == row)
    #expect(table.rows[row].claimants == [2])
    #expect(table.disclaim("b", by: 1) == nil)
  }

  @Test func `it grows with its apps, and forgets what nobody claims when it does`() {
    var table = AppTable()
    for number in 0..<1_000 { table.insert("app\(number)", .production, number) }
    #expect((0..<1_000).allSatisfy { table.find(hash("app\($0)"), .production) == $0 })
    #expect(table.places.count >= 2_000)
    var vacant = AppTable()
    for number in 0..<1_000 {
      _ = vacant.claim("app\(number)", by: 0)
      _ = vacant.disclaim("app\(number)", by: 0)
    }
    #expect(vacant.rows.count < 16, "\(vacant.rows.count)")
  }
}
