// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Telemetry

struct ProcessMetrics {
  private let program: String
  /// When the process started, in milliseconds since the epoch.
  private let startedAt: Int?

  init(program: String) {
    self.program = program
    // A time of day that was wrong at the start stays so: the same on each page.
    startedAt = Self.figures.map { figures in
      let boot = WallClock.milliseconds() - Int64(Self.millisecondsSinceBoot)
      return Int(boot) + figures.startTicks * 1_000 / Self.ticksPerSecond
    }
  }

  var samples: [MetricSample] {
    var samples = [
      MetricSample(ProgramMetrics.buildInfo, [program, Version.text, Version.commit], 1)
    ]
    if let figures = Self.figures {
      samples += [
        MetricSample(
          ProgramMetrics.cpu, [], .thousandths(figures.ticks * 1_000 / Self.ticksPerSecond)),
        MetricSample(
          ProgramMetrics.resident, figures.residentPages * Int(sysconf(Int32(_SC_PAGESIZE)))),
        MetricSample(ProgramMetrics.virtual, figures.virtualBytes),
      ]
    }
    if let count = Self.openFiles { samples.append(MetricSample(ProgramMetrics.openFiles, count)) }
    var limit = rlimit()
    if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
      samples.append(MetricSample(ProgramMetrics.maxFiles, Int(clamping: limit.rlim_cur)))
    }
    if let startedAt {
      samples.append(MetricSample(ProgramMetrics.startTime, [], .thousandths(startedAt)))
    }
    return samples
  }

  private static var figures: ProcessFigures? {
    guard let bytes = try? File.read("/proc/self/stat") else { return nil }
    return ProcessFigures(parsing: String(decoding: bytes, as: UTF8.self))
  }

  private static var ticksPerSecond: Int { max(1, Int(sysconf(Int32(_SC_CLK_TCK)))) }

  private static var millisecondsSinceBoot: Int {
    var time = timespec()
    clock_gettime(CLOCK_BOOTTIME, &time)
    return time.tv_sec * 1_000 + time.tv_nsec / 1_000_000
  }

  private static var openFiles: Int? {
    guard let folder = opendir("/proc/self/fd") else { return nil }
    defer { closedir(folder) }
    var count = 0
    while readdir(folder) != nil { count += 1 }
    // Itself, its parent, and the descriptor of this list.
    return count - 3
  }
}
