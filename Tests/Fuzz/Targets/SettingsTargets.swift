// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Feedback
import GatewaySimulator
import Ingest
import Sender
import ServiceKit
import Settings
import Signer
import Telemetry

@testable import OperatorCommand

extension FuzzTarget {
  /// Properties files: entries written again read as the same, and every error names a line of the file.
  static func properties() -> FuzzTarget {
    let sender = programs[0]
    return FuzzTarget("properties") { bytes in
      do throws(SettingErrors) {
        let file = try PropertiesFile(parsing: bytes.text, path: "fuzz")
        let text = file.entries.map { "\($0.name) = \($0.value)\n" }.joined()
        let again = try PropertiesFile(parsing: text, path: "fuzz")
        let isSame = again.entries.elementsEqual(file.entries) {
          $0.name == $1.name && $0.value == $1.value
        }
        if !isSame { return "the entries do not survive writing" }
        return readAll(try? CommandLineFlags([], for: sender.table), sender, file: file)
      } catch {
        return error.errors.isEmpty ? "refused without an error" : nil
      }
    }
  }

  /// Command lines and variables: an argument a line; lines with `MARTLET_` first are variables, and a first line
  /// `@name` chooses another program than the sender. What is accepted goes through to the program's own settings.
  static func settings() -> FuzzTarget {
    let programs = programs
    return FuzzTarget("settings") { bytes in
      var lines = bytes.text.split(separator: "\n").map(String.init)
      var program = programs[0]
      if let name = lines.first, name.hasPrefix("@") {
        program = programs.first { $0.name == name.dropFirst() } ?? program
        lines.removeFirst()
      }
      var environment: [String: String] = [:]
      for line in lines where line.hasPrefix("MARTLET_") {
        let parts = line.split(separator: "=", maxSplits: 1).map(String.init)
        environment[parts[0]] = parts.count > 1 ? parts[1] : ""
      }
      let arguments = lines.filter { !$0.hasPrefix("MARTLET_") }
      do throws(SettingErrors) {
        let flags = try CommandLineFlags(arguments, for: program.table)
        return readAll(flags, program, environment: environment)
      } catch {
        return error.errors.isEmpty ? "refused without an error" : nil
      }
    }
  }

  /// Times, sizes, moments, latencies and ids as operators write them: what is accepted can be written so that it
  /// reads as the same.
  static func forms() -> FuzzTarget {
    let now: Int64 = 1_795_224_000_123
    return FuzzTarget("forms") { bytes in
      let text = bytes.text
      if let time = DurationText.milliseconds(of: text),
        time < 0 || DurationText.milliseconds(of: DurationText.text(milliseconds: time)) != time
      {
        return "a time span of \(time) ms"
      }
      if let size = ByteCountText.bytes(of: text),
        size < 0 || ByteCountText.bytes(of: ByteCountText.text(bytes: size)) != size
      {
        return "a size of \(size) bytes"
      }
      if let moment = MomentText.milliseconds(of: text, now: now), text.contains("-") {
        let written = Timestamp.text(milliseconds: moment)
        if MomentText.milliseconds(of: written, now: now) != moment {
          return "\(written) is another"
        }
      }
      if let model = LatencyModel(text) {
        _ = model.milliseconds(.max)
        if LatencyModel(model.text) == nil { return "\(model.text) is no latency" }
      }
      if let id = NotificationID(text), id.description != text.lowercased() { return "another id" }
      return nil
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

  /// A program, its settings, and what makes use of them.
  private struct Program {
    let name: String
    let table: SettingTable
    let use: (SettingValues) throws(SettingErrors) -> Void
  }

  private static var programs: [Program] {
    func program<S: Service>(
      _ service: S.Type, _ use: @escaping (SettingValues) throws(SettingErrors) -> Void
    ) -> Program {
      Program(name: S.name, table: CommonSettings.table(of: service), use: use)
    }
    return [
      program(SenderService.self) { values throws(SettingErrors) in _ = try SenderSettings(values)
      },
      program(IngestService.self) { values throws(SettingErrors) in _ = try IngestSettings(values)
      },
      program(SignerService.self) { values throws(SettingErrors) in _ = try SignerSettings(values)
      },
      program(FeedbackService.self) { values throws(SettingErrors) in
        _ = try FeedbackSettings(values)
      },
      program(SimulatorService.self) { values throws(SettingErrors) in
        _ = try SimulatorSettings(values)
      },
      program(ChannelsCreateCommand.self) { values throws(SettingErrors) in
        _ = try ChannelSettings(values)
      },
      program(DeadLettersListCommand.self) { values throws(SettingErrors) in
        _ = try DeadLetterFilter(values, TopicNames())
      },
      program(TopicsCreateCommand.self) { values throws(SettingErrors) in
        _ = try PartitionCounts.specifications(TopicNames(), values)
      },
    ]
  }

  private static func readAll(
    _ flags: CommandLineFlags?, _ program: Program, environment: [String: String] = [:],
    file: PropertiesFile? = nil
  ) -> String? {
    guard let flags else { return nil }
    do throws(SettingErrors) {
      let values = try program.table.read(flags, environment: environment, file: file)
      if program.table.takesKafkaProperties {
        // What is passed through comes back as flags that mean the same.
        let again = try CommandLineFlags(values.kafka.flags, for: program.table)
        if !again.operands.isEmpty { return "a Kafka property became an operand" }
      }
      try program.use(values)
      return nil
    } catch {
      return error.errors.isEmpty || error.description.isEmpty ? "refused without an error" : nil
    }
  }
}
