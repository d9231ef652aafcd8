// SPDX-License-Identifier: Apache-2.0
import Waiting

/// Generates a day's worth of requests from a seed: the same seed gives the same lines.
///
/// About 1 % of the lines are malformed, 0.5 % too large, 0.5 % expired, and 1 % repeat an earlier request; 8 % go to
/// several devices, 20 % are background pushes. 2 % of the devices are unregistered.
public struct DemoGenerator {
  /// One in this many devices no longer has the app installed.
  private static let devicesPerUnregistered: UInt64 = 50
  /// The greatest distance between a repeated request and the first one, in requests.
  private static let memory = 500

  private var random: SeededGenerator
  private let seed: UInt64
  private let devicesPerApp: UInt64
  private var count = 0
  private var recent: [String] = []
  /// The number of Live Activities that the requests update in turn; 0 for other requests.
  private let activities: Int

  /// - Parameter activities: The number of Live Activities that the requests update in turn; 0 for a day's requests.
  public init(seed: UInt64, requests: Int, activities: Int = 0) {
    self.activities = activities
    self.seed = seed
    random = SeededGenerator(seed: seed)
    devicesPerApp = UInt64(max(100, requests / 4))
  }

  /// Returns the next line, without its end.
  public mutating func next() -> String {
    count += 1
    if activities > 0 { return update() }
    if !recent.isEmpty, random.chance(per10000: 100) { return random.pick(recent) }
    let line = random.chance(per10000: 100) ? malformed() : request()
    if recent.count == Self.memory { recent.removeFirst(Self.memory / 2) }
    recent.append(line)
    return line
  }

  /// The devices that the gateway must report as unregistered.
  public var unregistered: [(token: String, app: String)] {
    DemoTexts.apps.indices.flatMap { app in
      stride(from: 0, to: devicesPerApp, by: Int(Self.devicesPerUnregistered)).map {
        (token(app: app, device: $0), DemoTexts.apps[app].bundleID)
      }
    }
  }

  /// The next update of an activity.
  private func update() -> String {
    // Every fiftieth device is unregistered.
    let number = UInt64((count - 1) % activities)
    let token = token(app: 0, device: number / 49 * 50 + number % 49 + 1)
    return
      #"{"id":"state-\#(seed)-\#(count)","app":"\#(DemoTexts.apps[0].bundleID)","token":"\#(token)","#
      + #""type":"liveactivity","payload":{"aps":{"timestamp":\#(1_700_000_000 + count),"event":"update","#
      + #""content-state":{"score":\#(count)}}}}"#
  }

  private mutating func request() -> String {
    let app = Int(random.next() % UInt64(DemoTexts.apps.count))
    let isBackground = random.chance(per10000: 2_000)
    let isCampaign = random.chance(per10000: 800)
    var fields = [
      "\"id\":\"demo-\(seed)-\(count)\"", "\"app\":\"\(DemoTexts.apps[app].bundleID)\"",
    ]
    fields.append(isCampaign ? tokens(app) : "\"token\":\"\(randomToken(app))\"")
    if isBackground || random.chance(per10000: 3_000) {
      fields.append("\"type\":\"\(isBackground ? "background" : "alert")\"")
    }
    let isOversize = random.chance(per10000: 50)
    fields.append("\"payload\":\(payload(isBackground, isOversize))")
    if isCampaign { fields.append("\"lane\":\"bulk\"") }
    if random.chance(per10000: 50) {
      fields.append("\"expiration\":\(1_600_000_000 + random.next() % 1_000_000)")
    } else if random.chance(per10000: 2_000) {
      fields.append("\"expiration\":\(random.chance(per10000: 5_000) ? 0 : 4_000_000_000)")
    }
    if !isBackground, random.chance(per10000: 1_500) { fields.append("\"priority\":5") }
    if random.chance(per10000: 500) {
      fields.append("\"collapse_id\":\"group-\(random.next() % 1_000)\"")
    }
    return "{\(fields.joined(separator: ","))}"
  }

  private mutating func payload(_ isBackground: Bool, _ isOversize: Bool) -> String {
    let padding = isOversize ? ",\"blob\":\"\(String(repeating: "x", count: 6_000))\"" : ""
    if isBackground {
      return "{\"aps\":{\"content-available\":1},\"version\":\(random.next() % 10_000)\(padding)}"
    }
    let message = random.pick(DemoTexts.messages)
    let alert = "{\"title\":\"\(message.title)\",\"body\":\"\(message.body)\"}"
    let badge = random.next() % 20
    return "{\"aps\":{\"alert\":\(alert),\"sound\":\"default\",\"badge\":\(badge)},"
      + "\"locale\":\"\(message.locale)\",\"link\":\"https://example.com/\(random.next() % 100_000)\"\(padding)}"
  }

  private mutating func tokens(_ app: Int) -> String {
    let count = 2 + random.next() % 39
    // Consecutive devices, so that none occurs twice in one request.
    let first = random.next() % devicesPerApp
    let all = (0..<count).map { "\"\(token(app: app, device: (first + $0) % devicesPerApp))\"" }
    return "\"tokens\":[\(all.joined(separator: ","))]"
  }

  private mutating func randomToken(_ app: Int) -> String {
    token(app: app, device: random.next() % devicesPerApp)
  }

  /// A device's token: 32 bytes, or 80 for every hundredth device.
  private func token(app: Int, device: UInt64) -> String {
    var source = SeededGenerator(
      seed: seed ^ UInt64(app + 1) << 56 ^ device &* 0x2545_f491_4f6c_dd1d)
    let words = device % 100 == 99 ? 10 : 4
    return (0..<words).map { _ in
      let digits = String(source.next(), radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// A line that ingest must reject, completely or for one of its tokens.
  private mutating func malformed() -> String {
    let app = Int(random.next() % UInt64(DemoTexts.apps.count))
    let (id, token) = ("demo-\(seed)-\(count)", randomToken(app))
    let name = DemoTexts.apps[app].bundleID
    let payload = "{\"aps\":{\"alert\":\"x\"}}"
    let head = "{\"id\":\"\(id)\",\"app\":\"\(name)\",\"token\":\"\(token)\""
    return random.pick([
      "\(head),\"payload\":{\"aps\":",
      "not JSON at all",
      "{\"id\":\"\(id)\",\"token\":\"\(token)\",\"payload\":\(payload)}",
      "{\"id\":\"\(id)\",\"app\":\"\(name)\",\"payload\":\(payload)}",
      "{\"id\":\"\(id)\",\"app\":\"\(name)\",\"token\":\"xyz\",\"payload\":\(payload)}",
      "{\"id\":\"\(id)\",\"app\":\"\(name)\",\"tokens\":[\"\(token)\",\"0g\"],\"payload\":\(payload)}",
      "\(head),\"payload\":[1,2]}",
      "\(head),\"payload\":\(payload),\"colour\":\"red\"}",
      "\(head),\"payload\":\(payload),\"type\":\"shout\"}",
      "\(head),\"payload\":\(payload),\"priority\":11}",
    ])
  }
}
