// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Sender
import Settings

extension FuzzTarget {
  /// Properties files: entries written again read as the same, and every error names a line of the file.
  static func properties() -> FuzzTarget {
    FuzzTarget("properties") { bytes in
      do throws(SettingErrors) {
        let file = try PropertiesFile(parsing: bytes.text, path: "fuzz")
        let text = file.entries.map { "\($0.name) = \($0.value)\n" }.joined()
        let again = try PropertiesFile(parsing: text, path: "fuzz")
        let isSame = again.entries.elementsEqual(file.entries) {
          $0.name == $1.name && $0.value == $1.value
        }
        if !isSame { return "the entries do not survive writing" }
        return readAll(try? CommandLineFlags([], for: SenderService.table), file: file)
      } catch {
        return error.errors.isEmpty ? "refused without an error" : nil
      }
    }
  }

  /// Command lines and variables: an argument a line; lines with `MARTLET_` first are variables.
  static func settings() -> FuzzTarget {
    FuzzTarget("settings") { bytes in
      let lines = bytes.text.split(separator: "\n").map(String.init)
      var environment: [String: String] = [:]
      for line in lines where line.hasPrefix("MARTLET_") {
        let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
        environment[parts[0]] = parts.count > 1 ? parts[1] : ""
      }
      let arguments = lines.filter { !$0.hasPrefix("MARTLET_") }
      do throws(SettingErrors) {
        let flags = try CommandLineFlags(arguments, for: SenderService.table)
        return readAll(flags, environment: environment)
      } catch {
        return error.errors.isEmpty ? "refused without an error" : nil
      }
    }
  }

  /// Addresses: a proxy's URL, and the host and port in it.
  static func proxy() -> FuzzTarget {
    FuzzTarget("proxy") { bytes in
      let text = bytes.text
      if let endpoint = try? Endpoint(parsing: text) {
        guard (try? Endpoint(parsing: endpoint.description)) == endpoint else {
          return "an address does not survive writing"
        }
      }
      do throws(ValueProblem) {
        let proxy = try ProxyURL(parsing: text)
        if proxy.endpoint.host.isEmpty { return "a proxy without a host" }
        return nil
      } catch {
        return error.text.isEmpty ? "refused without words" : nil
      }
    }
  }

  private static func readAll(
    _ flags: CommandLineFlags?, environment: [String: String] = [:], file: PropertiesFile? = nil
  ) -> String? {
    guard let flags else { return nil }
    do throws(SettingErrors) {
      let values = try SenderService.table.read(flags, environment: environment, file: file)
      // What is passed through comes back as flags that mean the same.
      let again = try CommandLineFlags(values.kafka.flags, for: SenderService.table)
      return again.operands.isEmpty ? nil : "a Kafka property became an operand"
    } catch {
      return error.errors.isEmpty || error.description.isEmpty ? "refused without an error" : nil
    }
  }
}
