// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct PushTypesTests {
  private func problem(_ texts: String...) -> String? {
    do throws(PushTypes.Problem) {
      _ = try PushTypes(texts)
      return nil
    } catch {
      return error.text
    }
  }

  @Test func `custom types are found by their name beside those that are built in`() throws {
    let types = try PushTypes(["weather=.push-type.weather", "tides="])
    #expect(types.find("alert".utf8.span) == .alert)
    #expect(types.find("weather".utf8.span) == .custom(0))
    #expect(types.find("tides".utf8.span) == .custom(1))
    #expect(types.find("weathe".utf8.span) == nil && types.find("".utf8.span) == nil)
    #expect(types.names == PushType.allCases.map(\.description) + ["weather", "tides"])
    for (type, name, suffix) in [
      (PushType.custom(0), "weather", ".push-type.weather"), (.custom(1), "tides", ""),
      (.voip, "voip", ".voip"),
    ] {
      #expect(types.name(of: type) == name && types.suffix(of: type) == suffix)
      #expect(types.suffixLength(of: type) == suffix.utf8.count)
    }
    #expect(PushTypes.builtIn.find("weather".utf8.span) == nil)
  }

  @Test func `every built-in type is found by its name`() {
    #expect(PushType.allCases.count == 12)
    for type in PushType.allCases { #expect(PushType(type.description) == type) }
  }

  @Test func `readers without settings take every name, and know no suffix of it`() {
    #expect(PushTypes.any.find("alert".utf8.span) == .alert)
    let type = PushTypes.any.find("weather".utf8.span)
    #expect(type != nil && type.flatMap { PushTypes.any.suffix(of: $0) } == nil)
    #expect(PushTypes.any.find("two words".utf8.span) == nil)
    #expect(PushTypes.any.find(String(repeating: "a", count: 65).utf8.span) == nil)
  }

  @Test func `a push type that is no NAME=SUFFIX is refused with its reason`() {
    #expect(problem("weather")?.contains("must be NAME=SUFFIX") == true)
    for name in ["", "Weather", "a b", "a\t", String(repeating: "a", count: 65)] {
      #expect(problem("\(name)=.x")?.hasPrefix("the name must be") == true, "\(name)")
    }
    for suffix in ["x", ".a b", ".a\t", "." + String(repeating: "a", count: 64)] {
      #expect(problem("weather=\(suffix)")?.hasPrefix("the suffix must be") == true, "\(suffix)")
    }
    #expect(problem("voip=.voip2") == "voip is built in")
    #expect(problem("weather=.a", "weather=.b") == "weather is given twice")
    #expect(problem("weather=", "tides=.push-type.tides-2") == nil)
  }
}
